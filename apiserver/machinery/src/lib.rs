//! Pure API machinery. It does not access the network, the disk or the wall clock, except through [`clock`] and
//! [`random`], which are part of this crate because all crates need them.
//!
//! Objects are `serde_json::Value`, because the API server serves kinds that it learns at runtime.

pub mod allowance;
pub mod apply;
pub mod cache;
pub mod cause;
pub mod clock;
pub mod decode;
pub mod duration;
pub mod field;
pub mod go;
pub mod go_base64;
pub mod hash;
pub mod json;
pub mod limits;
pub mod meta;
pub mod names;
pub mod patch;
pub mod pattern;
pub mod quantity;
pub mod random;
pub mod schema;
pub mod selector;
pub mod splice;
pub mod status;
pub mod table;
pub mod url;
pub mod yaml;
