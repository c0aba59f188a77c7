//! Manifests that a user hands over: read, checked against what the server serves, applied.

pub mod apply;
pub mod read;
pub mod suggest;
