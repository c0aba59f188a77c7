//! DevMachinePools whose machines are simulated.

use engine::object::annotation;
use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachineBackend, DevMachinePool};

use crate::backend::Backend;
use crate::names::KUBERNETES_VERSION;

/// The backend `inMemory`. Its machines differ by the version of their Nodes.
pub const IN_MEMORY: &dyn Backend = &InMemory;

struct InMemory;

impl Backend for InMemory {
    fn provider_id(&self, dev: &DevMachinePool, _: &MachinePool) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        format!("in-memory:///{}/{}", text(&dev.metadata.namespace), text(&dev.metadata.name))
    }

    fn fill(&self, machine: &mut DevMachine, dev: &DevMachinePool, pool: &MachinePool) -> Result<(), String> {
        let in_memory = dev.spec.backend.as_ref().and_then(|backend| backend.in_memory.clone());
        machine.spec.backend =
            DevMachineBackend { in_memory: Some(in_memory.unwrap_or_default()), docker: None };
        if let Some(version) = pool.spec.template.spec.version.clone() {
            let annotations = machine.metadata.annotations.get_or_insert_default();
            annotations.insert(KUBERNETES_VERSION.to_owned(), version);
        }
        Ok(())
    }

    fn made_of<'a>(&self, machine: &'a DevMachine) -> Option<&'a str> {
        annotation(machine, KUBERNETES_VERSION)
    }

    fn version<'a>(&self, dev: &'a DevMachine, _: Option<&'a Machine>) -> Option<&'a str> {
        annotation(dev, KUBERNETES_VERSION)
    }
}
