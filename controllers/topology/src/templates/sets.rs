//! Cleans up after MachineSets of topologies: their templates.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::DEPLOYMENT_NAME;
use engine::object::{is_deleting, label};
use engine::{
    Action, Controller, Descriptor, Error, External, Frame, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Result, finalizer, owners,
};
use schemas::cluster::{Cluster, MachineDeployment, MachineSet};
use schemas::meta::ContractVersionedObjectReference;

use super::unused::unused;
use super::{cluster_of, delete, of_paused};
use crate::Context;

/// The finalizer of MachineSets of topologies.
pub const FINALIZER: &str = "machineset.topology.cluster.x-k8s.io";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Context> =
    Descriptor { name: "topology/machineset", reconciles: &[], start };

/// The state of the world that the plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineSet.
    pub set: Arc<MachineSet>,
    /// Its MachineDeployment; `None` if it is gone.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// All MachineSets of the MachineDeployment.
    pub sets: Vec<Arc<MachineSet>>,
}

/// The changes that a MachineSet needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachineSet with its wanted finalizers.
    pub set: MachineSet,
    /// Templates to delete.
    pub templates: Vec<ContractVersionedObjectReference>,
}

/// Applies all rules. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let set = observed.set.as_ref();
    let mut plan = Plan { set: set.clone(), ..Plan::default() };
    if is_deleting(set) {
        plan.templates = unused(&set.spec.template, observed.deployment.as_deref(), &observed.sets);
        finalizer::remove(&mut plan.set, FINALIZER);
    }
    plan
}

struct SetController {
    manager: Manager,
    clusters: Objects<Cluster>,
    deployments: Objects<MachineDeployment>,
    sets: Objects<MachineSet>,
    external: External,
}

fn start(manager: &Manager, _: &Context) {
    if !manager.features().cluster_topology {
        return;
    }
    let (clusters, deployments) = (manager.objects::<Cluster>(), manager.objects::<MachineDeployment>());
    let sets = manager.objects::<MachineSet>();
    let of_cluster = sets.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&sets)
        .watches(&clusters, move |change| of_paused(change, &of_cluster))
        .reads(&deployments);
    let external = External::new(manager, &controller.queue(), |_, _| Vec::new());
    let manager = manager.clone();
    controller.start(Frame::new(SetController { manager, clusters, deployments, sets, external }));
}

impl Planned for SetController {
    type Object = MachineSet;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = &[];

    fn objects(&self) -> &Objects<MachineSet> {
        &self.sets
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, set: &Arc<MachineSet>) -> Membership {
        cluster_of(&self.clusters, set)
    }

    async fn observe(&self, set: Arc<MachineSet>, cluster: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        let Some(cluster) = cluster.filter(|_| is_deleting(set.as_ref())) else { return Ok(None) };
        let owner = owners::find(set.as_ref(), MachineDeployment::GROUP, MachineDeployment::KIND);
        let Some(owner) = owner.map(|owner| owner.name.clone()) else {
            let name = NamespacedName::of(set.as_ref());
            let problem =
                "has no MachineDeployment among its owners, so it is not known who else uses its templates";
            return Err(Error::failed(format!("MachineSet {name} {problem}: add the owner reference")));
        };
        let cluster = NamespacedName::of(cluster.as_ref());
        let mut sets = self.sets.by_cluster(&cluster);
        sets.retain(|other| label(other.as_ref(), DEPLOYMENT_NAME) == Some(owner.as_str()));
        let deployment = self.deployments.get(&NamespacedName::new(cluster.namespace, owner));
        Ok(Some(Observed { set, deployment, sets }))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<MachineSet> {
        let namespace = observed.set.metadata.namespace.clone().unwrap_or_default();
        let errors = delete(&self.external, &namespace, &plan.templates).await;
        // The finalizer stays until everything is deleted.
        let wanted = errors.is_empty().then_some(plan.set);
        Outcome { wanted, errors, action: Action::done() }
    }
}
