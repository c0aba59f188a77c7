//! For the tests of this workspace; not part of the API.

pub use crate::engine::faulty::{Fault, Faulty};
pub use crate::engine::gate::Gate;
pub use crate::engine::row::{COMPRESS_FROM, decode, decode_links, decode_without_value, encode};
pub use crate::flush::commit_blocking;
