//! Validation of an object against a schema, with the order and messages of kube-apiserver
//! (`kube-openapi/pkg/validation/validate`). Validation ratchets: errors in values that an update left unchanged are
//! not reported again.

mod containers;
mod numbers;
mod run;
mod scalars;
mod types;
mod walk;

pub use walk::{validate_part, validate_values};
