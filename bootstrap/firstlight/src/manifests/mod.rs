//! User manifests: reading, checking against the served kinds, applying.

pub mod apply;
mod explain;
pub mod fetch;
mod field_path;
mod last_applied;
pub mod read;
pub mod suggest;
pub mod undo;
