//! Validation of an object against a schema, in the order and the words of kube-apiserver
//! (`kube-openapi/pkg/validation/validate`), with ratcheting: what an update leaves as it was is not
//! reported again.

mod containers;
mod run;
mod scalars;
mod types;
mod walk;

pub use walk::{validate_part, validate_values};
