// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `addons`.

mod cluster_resource_set;
pub use cluster_resource_set::*;
