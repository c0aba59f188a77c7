//! ClusterResourceSets: the manifests in Secrets and ConfigMaps that are applied to the workload clusters that a set selects.
//!
//! A ClusterResourceSetBinding records for each Cluster what was applied (`contract/controllers.md`, §9).

pub mod binding;
pub mod limits;
pub mod names;
pub mod resource_set;

use engine::Provider;

/// The table of the controllers of add-ons. They are no provider of their own: upstream's core provider contains them.
pub const PROVIDERS: &[Provider] =
    &[Provider { inventory: None, controllers: &[resource_set::CONTROLLER, binding::CONTROLLER] }];
