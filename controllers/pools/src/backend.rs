//! What the backends of DevMachinePools do differently. Pure.

use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};

/// A backend of DevMachinePools.
pub trait Backend: Send + Sync + 'static {
    /// Returns the provider ID of a pool.
    fn provider_id(&self, dev: &DevMachinePool, pool: &MachinePool) -> String;

    /// Writes the backend into a new DevMachine.
    ///
    /// # Errors
    /// Says what the pool lacks, so that it can have no machines.
    fn fill(&self, machine: &mut DevMachine, dev: &DevMachinePool, pool: &MachinePool) -> Result<(), String>;

    /// Returns whether a machine was made of something else than the new one that was filled for the pool; `None` if nobody knows yet. A machine
    /// that was is replaced.
    fn is_outdated(
        &self,
        member: (&DevMachine, Option<&Machine>),
        new: &DevMachine,
        pool: &MachinePool,
    ) -> Option<bool>;
}
