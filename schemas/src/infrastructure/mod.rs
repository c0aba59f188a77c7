// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `infrastructure`.

mod dev_cluster;
mod dev_machine;
mod dev_machine_pool;
mod metal3_cluster;
mod metal3_data;
mod metal3_data_template;
mod metal3_machine;
mod metal3_network_data;
mod metal3_network_links;
mod metal3_remediation;
pub use dev_cluster::*;
pub use dev_machine::*;
pub use dev_machine_pool::*;
pub use metal3_cluster::*;
pub use metal3_data::*;
pub use metal3_data_template::*;
pub use metal3_machine::*;
pub use metal3_network_data::*;
pub use metal3_network_links::*;
pub use metal3_remediation::*;
