// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `infrastructure`.

mod dev_cluster;
mod dev_machine;
mod dev_machine_pool;
pub use dev_cluster::*;
pub use dev_machine::*;
pub use dev_machine_pool::*;
