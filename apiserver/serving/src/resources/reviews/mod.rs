//! Kinds that are answered and never stored: reviews of tokens and of access, and requests for tokens.

mod access;
mod messages;
pub(crate) mod review;
mod spec;
pub(crate) mod token_request;
mod who;
