//! User manifests: reading, checking against the served kinds, applying.

pub mod apply;
pub mod explain;
pub mod fetch;
pub mod field_path;
mod last_applied;
pub mod read;
pub mod suggest;
pub mod undo;
