//! For the tests of this workspace; not part of the API.

pub use crate::limits::{
    CONVERSION_BYTES, REVIEW, REVIEW_BYTES, REVIEWS_BYTES, WEBHOOK_IDLE, WEBHOOK_STALLED,
};
pub use crate::token_keys::{KEY as TOKEN_KEY, load_or_create as token_keys};
