//! Namespaces.

pub(crate) mod kinds;
mod namespace;
