//! DevMachinePools whose machines are simulated.

use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachineBackend, DevMachinePool};

use crate::backend::Backend;

/// The backend `inMemory`. Its machines differ by the version of their Nodes.
pub const IN_MEMORY: &dyn Backend = &InMemory;

struct InMemory;

impl Backend for InMemory {
    fn provider_id(&self, dev: &DevMachinePool, _: &MachinePool) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        format!("in-memory:///{}/{}", text(&dev.metadata.namespace), text(&dev.metadata.name))
    }

    fn fill(&self, machine: &mut DevMachine, dev: &DevMachinePool, _: &MachinePool) -> Result<(), String> {
        let in_memory = dev.spec.backend.as_ref().and_then(|backend| backend.in_memory.clone());
        machine.spec.backend =
            DevMachineBackend { in_memory: Some(in_memory.unwrap_or_default()), docker: None };
        Ok(())
    }

    /// A Node gets the version that its pool has when it joins, and its Machine gets that of the Node.
    fn is_outdated(
        &self,
        (_, machine): (&DevMachine, Option<&Machine>),
        _: &DevMachine,
        pool: &MachinePool,
    ) -> Option<bool> {
        let version = machine?.spec.version.as_ref()?;
        Some(pool.spec.template.spec.version.as_ref() != Some(version))
    }
}
