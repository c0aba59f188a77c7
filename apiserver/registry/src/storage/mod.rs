//! The registry's view of the store: keys, serialized objects, and what is kept beside an object so that reads need not parse it.

pub(crate) mod document;
pub(crate) mod entries;
pub(crate) mod keys;
pub(crate) mod outline;
