//! The types of Cluster API and Metal3, their CRDs, defaults, validation.
//!
//! The structure of every kind stands as data in `types/` and `crds/`; from it `cargo xtask schemas` writes the Rust
//! types (`cluster`, `bootstrap`, …) and the CustomResourceDefinitions in `manifests/`. In the Rust types an optional
//! field is an `Option`, a list or map is empty where it is absent (`Option<Vec<_>>` only where an empty list means
//! something else than none), times are RFC 3339 strings.

pub mod addons;
pub mod admission;
pub mod bmc_address;
pub mod bootstrap;
mod catalogue;
pub mod cluster;
pub mod controlplane;
pub mod defaults;
pub mod infrastructure;
pub mod ipam;
mod kind;
pub mod meta;
pub mod metal3;
pub mod naming;
pub mod netboot;
pub mod runtime;

pub use kind::HasConditions;
use serde_json::Value;

/// Name and JSON text of every CustomResourceDefinition of this crate, sorted by name.
pub fn manifests() -> impl Iterator<Item = (&'static str, &'static str)> {
    catalogue::MANIFESTS.into_iter()
}

/// Every CustomResourceDefinition of this crate, sorted by name.
///
/// # Errors
/// When a manifest is not JSON, which a test excludes.
pub fn crds() -> Result<Vec<Value>, serde_json::Error> {
    catalogue::MANIFESTS.iter().map(|(_, text)| serde_json::from_str(text)).collect()
}
