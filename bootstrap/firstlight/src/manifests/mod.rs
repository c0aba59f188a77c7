//! User manifests: reading, checking against the served kinds, applying.

pub mod apply;
pub mod read;
pub mod suggest;
