//! The controller of DevMachinePools whose machines are simulated.

use engine::{Descriptor, GroupKind, Manager};
use schemas::infrastructure::DevMachinePool;

use crate::backend::Backend;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devmachinepool",
    reconciles: &[GroupKind::new(DevMachinePool::GROUP, DevMachinePool::KIND)],
    start,
};

fn start(manager: &Manager, backend: &Backend) {
    let all = backend.clone();
    dev_machine_pools::start(manager, CONTROLLER.name, dev_machine_pools::IN_MEMORY, move |dev| {
        let backend = dev.spec.backend.as_ref();
        let is_in_docker = backend.is_some_and(|backend| backend.docker.is_some());
        let is_simulated = backend.is_some_and(|backend| backend.in_memory.is_some());
        (!is_simulated).then(|| all.left("DevMachinePool", is_in_docker))
    });
}
