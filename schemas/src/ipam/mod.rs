// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `ipam`.

mod ip_address;
pub use ip_address::*;
