// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `cluster`.

mod class_patch;
mod class_variable;
#[allow(clippy::module_inception, reason = "the group is named after its main kind")]
mod cluster;
mod cluster_class;
mod health_check;
mod machine;
mod machine_deployment;
mod machine_drain_rule;
mod machine_health_check;
mod machine_pool;
mod machine_set;
mod topology;
pub use class_patch::*;
pub use class_variable::*;
pub use cluster::*;
pub use cluster_class::*;
pub use health_check::*;
pub use machine::*;
pub use machine_deployment::*;
pub use machine_drain_rule::*;
pub use machine_health_check::*;
pub use machine_pool::*;
pub use machine_set::*;
pub use topology::*;
