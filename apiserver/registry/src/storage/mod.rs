//! The registry's view of the store: keys, serialized objects, and metadata that is read without parsing the whole object.

pub(crate) mod document;
pub(crate) mod entries;
pub(crate) mod keys;
pub(crate) mod meta;
