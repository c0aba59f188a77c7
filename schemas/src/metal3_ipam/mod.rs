// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `metal3_ipam`.

mod ip_address;
mod ip_pool;
pub use ip_address::*;
pub use ip_pool::*;
