//! The controllers of Cluster, Machine, MachineSet and MachineDeployment.
//!
//! Each reconciler gathers the state it depends on, computes a plan, and applies the plan. `plan` is a pure
//! function with all the rules.

mod aggregates;
mod belonging;
mod change;
pub mod cluster;
pub mod machine;
pub mod machine_deployment;
pub mod machine_set;
mod scaling;
mod selector;
mod text;
mod versions;

pub use change::Reference;
use engine::Manager;

/// Starts the controllers of the core kinds.
pub fn start(manager: &Manager) {
    cluster::start(manager);
    machine::start(manager);
    machine_set::start(manager);
    machine_deployment::start(manager);
    belonging::start(manager);
}

/// Message of a condition for a failure that only the log explains.
pub(crate) const INTERNAL_ERROR: &str = "Please check controller logs for errors";
