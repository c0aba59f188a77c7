// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `ipam`.

mod in_cluster_pool;
mod ip_address;
pub use in_cluster_pool::*;
pub use ip_address::*;
