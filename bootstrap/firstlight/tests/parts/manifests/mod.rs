//! Tests of `firstlight::manifests`.

mod explain;
mod field_path;
mod read;
mod suggest;
mod undo;
