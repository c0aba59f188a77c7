//! What the backends of DevMachinePools do differently. Pure.

use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};

/// A backend of DevMachinePools.
pub trait Backend: Send + Sync + 'static {
    /// Returns the provider ID of a pool.
    fn provider_id(&self, dev: &DevMachinePool, pool: &MachinePool) -> String;

    /// Writes the backend into a new DevMachine, and what it needs to know of its pool.
    ///
    /// # Errors
    /// Says what the pool lacks, so that it can have no machines.
    fn fill(&self, machine: &mut DevMachine, dev: &DevMachinePool, pool: &MachinePool) -> Result<(), String>;

    /// Returns what a machine was made of. A machine that was made of something else than a new one is replaced.
    fn made_of<'a>(&self, machine: &'a DevMachine) -> Option<&'a str>;

    /// Returns the Kubernetes version of a machine's Node, once it is known.
    fn version<'a>(&self, dev: &'a DevMachine, machine: Option<&'a Machine>) -> Option<&'a str>;
}
