//! The MachineDeployment controller.

mod plan;
mod rollout;
mod sets;
mod status;
pub(crate) mod template;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::external::{change_key, reference_key};
use engine::names::DEPLOYMENT_NAME;
use engine::object::{label, uid};
use engine::{
    Action, Applied, Change, Controller, Descriptor, Error, External, GroupKind, Manager, NamespacedName, Objects, Reconciler,
    Request, Result, owners,
};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

pub use plan::{Plan, plan};

use crate::change::{Reference, apply_external, cluster_of, finish, is_paused, without_cluster, write_back};
use crate::selector;

/// The finalizer.
pub const FINALIZER: &str = "cluster.x-k8s.io/machinedeployment";
/// Annotation on MachineDeployments and MachineSets: which change of the template this is.
pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
const FIELD_MANAGER: &str = "capi-machinedeployment";
const OWNED: &[&str] = &[
    "Available",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "MachinesUpToDate",
    "Paused",
    "Deleting",
];
const CONCURRENCY: usize = 50;
const BY_REFERENCE: &str = "reference";

/// Everything that a plan for a MachineDeployment depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The MachineDeployment.
    pub deployment: Arc<MachineDeployment>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Its MachineSets, and those without an owner that its selector matches.
    pub sets: Vec<Arc<MachineSet>>,
    /// Its Machines.
    pub machines: Vec<Arc<Machine>>,
    /// The bootstrap template.
    pub bootstrap: Reference,
    /// The infrastructure template.
    pub infrastructure: Reference,
    /// The end of the name of the next MachineSet.
    pub suffix: String,
    /// Now.
    pub now: DateTime<Utc>,
}

struct Controls {
    manager: Manager,
    clusters: Objects<Cluster>,
    deployments: Objects<MachineDeployment>,
    sets: Objects<MachineSet>,
    machines: Objects<Machine>,
    external: External,
    applied: Applied,
    recorder: engine::events::Recorder,
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "machinedeployment",
    reconciles: &[GroupKind::new(MachineDeployment::GROUP, MachineDeployment::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let deployments = manager.objects::<MachineDeployment>();
    deployments.index(BY_REFERENCE, |deployment| {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let spec = &deployment.spec.template.spec;
        let references = [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    let (clusters, sets, machines) =
        (manager.objects::<Cluster>(), manager.objects(), manager.objects::<Machine>());
    let of_cluster = deployments.clone();
    let orphans = deployments.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&deployments)
        .owns(&sets, MachineDeployment::GROUP, MachineDeployment::KIND)
        .watches(&sets, move |change| selected_by(change, &orphans))
        .watches(&machines, of_machine)
        .watches(&clusters, move |change| {
            let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
            if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
                return Vec::new();
            }
            let list = of_cluster.by_cluster(&change.name());
            list.iter().map(|deployment| NamespacedName::of(deployment.as_ref())).collect()
        });
    let queue = controller.queue();
    let referring = deployments.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        // Templates are read when something is made of them: only coming and going matters.
        if change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        let list = referring.by_index(BY_REFERENCE, &change_key(resource, change));
        list.iter().map(|deployment| NamespacedName::of(deployment.as_ref())).collect()
    });
    let recorder = manager.recorder("machinedeployment-controller");
    let (manager, applied) = (manager.clone(), Applied::default());
    controller.start(Controls {
        manager,
        clusters,
        deployments,
        sets,
        machines,
        external,
        applied,
        recorder,
    });
}

/// MachineDeployments whose selector matches a MachineSet that nobody controls.
fn selected_by(change: &Change<MachineSet>, deployments: &Objects<MachineDeployment>) -> Vec<Request> {
    let Some(set) = change.new.as_ref().filter(|set| owners::controller(set.as_ref()).is_none()) else {
        return Vec::new();
    };
    let mut list = deployments.in_namespace(set.metadata.namespace.as_deref().unwrap_or_default());
    list.retain(|deployment| selector::matches(&deployment.spec.selector, set.metadata.labels.as_ref()));
    list.iter().map(|deployment| NamespacedName::of(deployment.as_ref())).collect()
}

fn of_machine(change: &Change<Machine>) -> Vec<Request> {
    let mut requests: Vec<Request> = change
        .objects()
        .filter_map(|machine| {
            let namespace = machine.metadata.namespace.clone().unwrap_or_default();
            Some(NamespacedName::new(namespace, label(machine.as_ref(), DEPLOYMENT_NAME)?))
        })
        .collect();
    requests.dedup();
    requests
}

impl Reconciler for Controls {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(deployment) = self.deployments.get(&request) else { return Ok(Action::done()) };
        let name = &deployment.spec.cluster_name;
        let cluster = match cluster_of::<MachineDeployment>(&self.clusters, &request, name) {
            Ok(cluster) => cluster,
            Err(missing) => {
                let left = !self.sets.by_owner(engine::object::uid(deployment.as_ref())).is_empty();
                return without_cluster(&self.deployments, &deployment, FINALIZER, left, missing).await;
            }
        };
        let deployment = engine::finalizer::ensure(&self.deployments, &deployment, FINALIZER).await?;
        let now = self.manager.clock().now();
        if is_paused(&self.deployments, &deployment, &cluster, (OWNED, now)).await? {
            return Ok(Action::done());
        }
        let observed = self.gather(deployment, cluster).await;
        let plan = plan(&observed);
        self.apply(&observed, plan).await
    }
}

impl Controls {
    async fn gather(&self, deployment: Arc<MachineDeployment>, cluster: Arc<Cluster>) -> Observed {
        let namespace = deployment.metadata.namespace.clone().unwrap_or_default();
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let spec = &deployment.spec.template.spec;
        let bootstrap = Reference::read(&self.external, &namespace, spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&spec.infrastructure_ref)).await;
        let mut sets = self.sets.by_cluster(&NamespacedName::of(cluster.as_ref()));
        sets.retain(|set| match owners::controller(set.as_ref()) {
            Some(owner) => owner.uid == uid(deployment.as_ref()),
            None => selector::matches(&deployment.spec.selector, set.metadata.labels.as_ref()),
        });
        let mut machines = self.machines.by_cluster(&NamespacedName::of(cluster.as_ref()));
        machines.retain(|machine| label(machine.as_ref(), DEPLOYMENT_NAME) == Some(name.as_str()));
        let (suffix, now) = (self.manager.random().name_suffix(), self.manager.clock().now());
        Observed { deployment, cluster, sets, machines, bootstrap, infrastructure, suffix, now }
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Result<Action> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for (current, wanted) in &plan.sets {
            let result =
                self.sets.apply_changed(&self.applied, FIELD_MANAGER, current.as_ref(), wanted).await;
            errors.extend(result.err());
        }
        for set in &plan.delete {
            errors.extend(self.sets.delete(set.as_ref()).await.err());
            self.applied.forget(uid(set.as_ref()));
        }
        for event in plan.events {
            self.recorder.normal(observed.deployment.as_ref(), &(), event.reason, event.message);
        }
        let errors = write_back(
            &self.deployments,
            &observed.deployment,
            plan.deployment,
            OWNED,
            errors,
            |deployment| &mut deployment.status.get_or_insert_default().observed_generation,
        )
        .await;
        finish(errors, plan.action)
    }
}
