//! The controller of DevMachinePools whose machines are containers. Each of their DevMachines has its container by itself.

use engine::{Descriptor, GroupKind, Left, Manager};
use schemas::infrastructure::DevMachinePool;

use crate::nodes::Nodes;

/// The descriptor of the controller.
pub(crate) const CONTROLLER: Descriptor<Nodes> = Descriptor {
    name: "devmachinepool-containers",
    reconciles: &[GroupKind::new(DevMachinePool::GROUP, DevMachinePool::KIND)],
    start,
};

fn start(manager: &Manager, _: &Nodes) {
    dev_machine_pools::start(manager, CONTROLLER.name, dev_machine_pools::DOCKER, |dev| {
        let backend = dev.spec.backend.as_ref();
        let is_ours = backend.is_some_and(|backend| backend.docker.is_some() && backend.in_memory.is_none());
        (!is_ours).then_some(Left::ToAnotherHere)
    });
}
