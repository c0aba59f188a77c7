//! The types of Cluster API and Metal3, their CRDs, defaults and validation.
//!
//! The structure of every kind is data in `types/` and `crds/`; from it `cargo xtask schemas` generates the
//! Rust types (`cluster`, `bootstrap`, ...) and the CustomResourceDefinitions in `manifests/`. In the Rust
//! types an optional field is an `Option`; an absent list or map is empty (`Option<Vec<_>>` only where absent
//! and empty differ in meaning); times are RFC 3339 strings.

pub mod addons;
pub mod addresses;
pub mod admission;
pub mod bmc_address;
pub mod bootstrap;
pub mod cluster;
pub mod container_linux;
pub mod contract;
pub mod controlplane;
pub mod conversion;
pub mod coredns;
pub mod defaults;
pub mod deletion_grace;
pub mod empty;
mod from_json;
pub mod hand_over;
pub mod in_cluster_pool;
pub mod infrastructure;
pub mod int_value;
pub mod ipam;
mod kind;
pub mod meta;
pub mod metal3;
pub mod metal3_ipam;
pub mod names;
pub mod naming;
pub mod netboot;
pub mod operator;
pub mod reboot;
pub mod runtime;
pub mod variables;
pub mod version;

use std::io;

pub use from_json::FromJson;
pub use kind::HasConditions;
use serde_json::Value;

/// Name and JSON text of each CustomResourceDefinition, see `build.rs`.
const MANIFESTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/manifests.zst"));

/// Returns name and JSON text of every CustomResourceDefinition of this crate, sorted by name.
///
/// # Errors
/// Fails if they cannot be decompressed, which a test rules out.
pub fn manifests() -> io::Result<Vec<(String, String)>> {
    let text = String::from_utf8(zstd::decode_all(MANIFESTS)?).map_err(io::Error::other)?;
    let mut parts = text.split_terminator('\0');
    let pair = || Some((parts.next()?.to_owned(), parts.next()?.to_owned()));
    Ok(std::iter::from_fn(pair).collect())
}

/// Returns every CustomResourceDefinition of this crate, sorted by name.
///
/// # Errors
/// Fails if a manifest is not JSON, which a test rules out.
pub fn crds() -> io::Result<Vec<Value>> {
    let all = manifests()?;
    all.iter().map(|(_, text)| serde_json::from_str(text).map_err(io::Error::from)).collect()
}
