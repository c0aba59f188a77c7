//! The state on which the plan of a DevMachinePool depends.

use std::sync::Arc;

use engine::names::{CLUSTER_NAME, DELETE_MACHINE, POOL_NAME};
use engine::object::{annotation, is_deleting};
use engine::owners;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};
use schemas::naming;

use crate::backend::Backend;

/// A DevMachine of the pool.
#[derive(Debug, Clone)]
pub struct Member {
    /// The DevMachine.
    pub dev: Arc<DevMachine>,
    /// Its Machine, which the MachinePool's controller creates.
    pub machine: Option<Arc<Machine>>,
    /// Whether it was made of something else than a new one.
    pub is_outdated: bool,
}

impl Member {
    /// Returns whether the deletion of the DevMachine or of its Machine has begun.
    pub fn goes(&self) -> bool {
        is_deleting(self.dev.as_ref())
            || self.machine.as_ref().is_some_and(|machine| is_deleting(machine.as_ref()))
    }

    /// Returns whether its Machine is ready, and with it its Node.
    pub fn is_ready(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.condition_is_true("Ready"))
    }

    /// Returns whether nobody knows if its Node is ready, because the cluster's API cannot be reached: shortly after a start, for example.
    pub fn is_out_of_sight(&self) -> bool {
        let node = self.machine.as_ref().and_then(|machine| machine.condition("NodeReady"));
        node.is_some_and(|node| node.reason == "ConnectionDown")
    }

    /// Returns whether the machine itself is as it should be, whatever its Node says.
    pub fn is_up(&self) -> bool {
        self.dev.spec.provider_id.is_some() && self.dev.condition_is_true("Ready")
    }

    /// Returns whether somebody has asked that it goes before others.
    pub fn is_asked(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| annotation(machine.as_ref(), DELETE_MACHINE).is_some())
    }
}

/// The state on which the plan of a DevMachinePool depends.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The DevMachinePool.
    pub dev: Arc<DevMachinePool>,
    /// The MachinePool that owns it.
    pub pool: Arc<MachinePool>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Its provider ID.
    pub provider_id: String,
    /// A new DevMachine without its name, or why there can be none.
    pub new: Result<DevMachine, String>,
    /// Its DevMachines.
    pub members: Vec<Member>,
    /// Machines of the MachinePool whose DevMachine does not exist any more.
    pub orphans: Vec<Arc<Machine>>,
    /// Names for new DevMachines, one for each that may be created now.
    pub names: Vec<String>,
}

impl Observed {
    /// Derives what the backend decides. Pure.
    pub fn new(
        backend: &dyn Backend,
        objects: (Arc<DevMachinePool>, Arc<MachinePool>, Arc<Cluster>),
        machines: Vec<(Arc<DevMachine>, Option<Arc<Machine>>)>,
    ) -> Self {
        let (dev, pool, cluster) = objects;
        let mut new = machine(&dev, &pool);
        let new = backend.fill(&mut new, &dev, &pool).map(|()| new);
        let is_outdated = |dev: &DevMachine, machine: Option<&Machine>| match &new {
            Ok(new) => backend.is_outdated((dev, machine), new, &pool),
            Err(_) => Some(false),
        };
        let is_outdated: Vec<Option<bool>> =
            machines.iter().map(|(dev, machine)| is_outdated(dev, machine.as_deref())).collect();
        // A machine of which nobody knows may never join. If it is as old as one that is replaced, nothing waits for it.
        let outdated =
            machines.iter().zip(&is_outdated).filter(|(_, is_outdated)| **is_outdated == Some(true));
        let last = outdated.filter_map(|((dev, _), _)| created(dev)).max();
        let members = machines.into_iter().zip(is_outdated).map(|((dev, machine), is_outdated)| Member {
            is_outdated: is_outdated.unwrap_or_else(|| last.is_some() && created(&dev) <= last),
            dev,
            machine,
        });
        let members = members.collect();
        let provider_id = backend.provider_id(&dev, &pool);
        Self { dev, pool, cluster, provider_id, new, members, orphans: Vec::new(), names: Vec::new() }
    }

    /// Returns how many machines the MachinePool wants.
    pub fn wanted(&self) -> usize {
        usize::try_from(self.pool.spec.replicas.unwrap_or(1)).unwrap_or(0)
    }

    /// Returns whether some machine is to be replaced.
    pub fn is_replacing(&self) -> bool {
        self.members.iter().any(|member| member.is_outdated)
    }
}

fn created(dev: &DevMachine) -> Option<Time> {
    dev.metadata.creation_timestamp.clone()
}

/// Returns a new DevMachine without its name and without what the backend decides.
fn machine(dev: &DevMachinePool, pool: &MachinePool) -> DevMachine {
    let metadata = pool.spec.template.metadata.clone().unwrap_or_default();
    let mut labels = metadata.labels;
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    labels.insert(POOL_NAME.to_owned(), naming::label_value(name));
    labels.insert(CLUSTER_NAME.to_owned(), pool.spec.cluster_name.clone());
    DevMachine {
        metadata: ObjectMeta {
            namespace: dev.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(metadata.annotations).filter(|annotations| !annotations.is_empty()),
            // The Machine becomes the controller.
            owner_references: Some(vec![owners::reference(dev, &())]),
            ..ObjectMeta::default()
        },
        ..DevMachine::default()
    }
}
