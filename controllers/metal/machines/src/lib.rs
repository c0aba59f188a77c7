//! Metal3's provider for Cluster API: Metal3Cluster, Metal3Machine and Metal3Remediation on BareMetalHosts.
//!
//! A machine claims a host with one write that names it as the host's consumer, and writes image and bootstrap data into the host.
//! The host's own controller (crate `metal`) does the rest. Kinds, conditions and rules are those of Metal3 (`contract/metal3`, §B).

pub mod choice;
pub mod claim;
pub mod claiming;
pub mod cluster;
pub mod consumer;
pub mod data;
pub mod host;
pub mod ipam;
pub mod labels;
pub mod limits;
pub mod machine;
pub mod names;
pub mod remediation;
mod template;

use engine::Provider;

/// The table of the controllers of Metal3's provider.
///
/// It is not in clusterctl's inventory, because clusterctl would ask for it in the target of every move.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[
        cluster::CONTROLLER,
        machine::CONTROLLER,
        template::CONTROLLER,
        labels::CONTROLLER,
        remediation::CONTROLLER,
        claim::CONTROLLER,
    ],
}];
