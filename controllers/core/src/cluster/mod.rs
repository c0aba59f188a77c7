//! The Cluster controller.

mod conditions;
mod counters;
mod deletion;
mod kubeconfig;
mod plan;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::external::{change_key, reference_key};
use engine::names::{CLUSTER_NAME, CONTROL_PLANE};
use engine::object::{is_deleting, label};
use engine::{
    Action, Change, Controller, Descriptor, Error, External, GroupKind, Health, Kind, Manager, NamespacedName, Objects, Reconciler,
    Request, Result,
};
use k8s_openapi::api::core::v1::Secret;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineSet};

pub use plan::{Plan, plan};

use crate::change::{Reference, apply_external, finish, is_paused, write_back};

/// The finalizer.
pub const FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// Conditions that this controller owns.
const OWNED: &[&str] = &[
    "Available",
    "RemoteConnectionProbe",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
    "Paused",
    "Deleting",
];
const BY_REFERENCE: &str = "reference";
const CONCURRENCY: usize = 50;

/// Everything that a plan for a Cluster depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// `spec.infrastructureRef`.
    pub infrastructure: Reference,
    /// `spec.controlPlaneRef`.
    pub control_plane: Reference,
    /// Its control plane Machines.
    pub control_plane_machines: Vec<Arc<Machine>>,
    /// Its other Machines.
    pub worker_machines: Vec<Arc<Machine>>,
    /// Its MachineDeployments.
    pub deployments: Vec<Arc<MachineDeployment>>,
    /// Its MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// Its MachinePools.
    pub pools: Vec<Arc<MachinePool>>,
    /// The connection to it.
    pub health: Health,
    /// The Secret with its kubeconfig exists.
    pub has_kubeconfig: bool,
    /// Its certificate authority, if there is one.
    pub authority: Option<Arc<Secret>>,
    /// Now.
    pub now: DateTime<Utc>,
}

struct Controls {
    manager: Manager,
    clusters: Objects<Cluster>,
    machines: Objects<Machine>,
    deployments: Objects<MachineDeployment>,
    sets: Objects<MachineSet>,
    pools: Objects<MachinePool>,
    secrets: Objects<Secret>,
    external: External,
    recorder: engine::events::Recorder,
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "cluster",
    reconciles: &[GroupKind::new(Cluster::GROUP, Cluster::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let clusters = manager.objects::<Cluster>();
    clusters.index(BY_REFERENCE, |cluster| {
        let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
        let references = [&cluster.spec.infrastructure_ref, &cluster.spec.control_plane_ref];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    let (machines, deployments, sets) = (manager.objects(), manager.objects(), manager.objects());
    let pools = manager.objects();
    let secrets = manager.objects::<Secret>();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&clusters)
        .watches(&machines, by_label)
        .watches(&deployments, by_label)
        .watches(&sets, by_label)
        .watches(&pools, by_label)
        .watches(&secrets, without_control_plane(&clusters));
    let queue = controller.queue();
    manager.clusters().notify(&queue, |cluster| vec![cluster.clone()]);
    let referring = clusters.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let referring = referring.by_index(BY_REFERENCE, &change_key(resource, change));
        referring.iter().map(|cluster| NamespacedName::of(cluster.as_ref())).collect()
    });
    let recorder = manager.recorder("cluster-controller");
    let manager = manager.clone();
    controller.start(Controls {
        manager,
        clusters,
        machines,
        deployments,
        sets,
        pools,
        secrets,
        external,
        recorder,
    });
}

/// The Cluster whose name an object has as label.
fn by_label<K: Kind>(change: &Change<K>) -> Vec<Request> {
    let clusters = change.objects().filter_map(|object| {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        Some(NamespacedName::new(namespace, label(object.as_ref(), CLUSTER_NAME)?))
    });
    let mut requests: Vec<Request> = clusters.collect();
    requests.dedup();
    requests
}

/// Clusters without a control plane object get their kubeconfig from this controller as soon as their certificate authority is there.
fn without_control_plane(clusters: &Objects<Cluster>) -> impl Fn(&Change<Secret>) -> Vec<Request> + use<> {
    let clusters = clusters.clone();
    move |change| {
        let mut requests = by_label(change);
        requests.retain(|request| {
            clusters.get(request).is_some_and(|cluster| cluster.spec.control_plane_ref.is_none())
        });
        requests
    }
}

impl Reconciler for Controls {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(cluster) = self.clusters.get(&request) else { return Ok(Action::done()) };
        let cluster = engine::finalizer::ensure(&self.clusters, &cluster, FINALIZER).await?;
        let now = self.manager.clock().now();
        if is_paused(&self.clusters, &cluster, &cluster, (OWNED, now)).await? {
            return Ok(Action::done());
        }
        let observed = self.gather(cluster).await;
        let plan = plan(&observed);
        self.apply(&observed, plan).await
    }
}

impl Controls {
    async fn gather(&self, cluster: Arc<Cluster>) -> Observed {
        let name = NamespacedName::of(cluster.as_ref());
        let infrastructure =
            Reference::read(&self.external, &name.namespace, cluster.spec.infrastructure_ref.as_ref()).await;
        let control_plane =
            Reference::read(&self.external, &name.namespace, cluster.spec.control_plane_ref.as_ref()).await;
        let machines = self.machines.by_cluster(&name);
        let (control_plane_machines, worker_machines) =
            machines.into_iter().partition(|machine| label(machine.as_ref(), CONTROL_PLANE).is_some());
        let secret = |suffix: &str| {
            self.secrets.get(&NamespacedName::new(name.namespace.as_str(), format!("{}-{suffix}", name.name)))
        };
        Observed {
            infrastructure,
            control_plane,
            control_plane_machines,
            worker_machines,
            deployments: self.deployments.by_cluster(&name),
            sets: self.sets.by_cluster(&name),
            pools: self.pools.by_cluster(&name),
            health: self.manager.clusters().health(&name),
            has_kubeconfig: secret("kubeconfig").is_some(),
            authority: secret("ca"),
            now: self.manager.clock().now(),
            cluster,
        }
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Result<Action> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        errors.extend(self.delete_each(&self.deployments, &plan.delete.deployments).await);
        errors.extend(self.delete_each(&self.sets, &plan.delete.sets).await);
        errors.extend(self.delete_each(&self.pools, &plan.delete.pools).await);
        errors.extend(self.delete_each(&self.machines, &plan.delete.machines).await);
        for object in &plan.delete.external {
            errors.extend(self.external.handle(object).delete(object.object.as_ref()).await.err());
        }
        if plan.create_kubeconfig {
            errors.extend(self.create_kubeconfig(observed).await.err());
        }
        for event in plan.events {
            self.recorder.normal(observed.cluster.as_ref(), &(), event.reason, event.message);
        }
        let errors = write_back(&self.clusters, &observed.cluster, plan.cluster, OWNED, errors, |cluster| {
            &mut cluster.status.get_or_insert_default().observed_generation
        })
        .await;
        finish(errors, plan.action)
    }

    async fn delete_each<K: Kind>(&self, objects: &Objects<K>, list: &[Arc<K>]) -> Vec<Error> {
        let mut errors = Vec::new();
        for object in list {
            errors.extend(objects.delete(object.as_ref()).await.err());
        }
        errors
    }

    async fn create_kubeconfig(&self, observed: &Observed) -> Result<()> {
        let Some(authority) = &observed.authority else { return Ok(()) };
        let secret = kubeconfig::secret(&observed.cluster, authority, observed.now, self.manager.random())?;
        self.secrets.create_if_absent(&secret).await.map(|_| ())
    }
}

/// Whether `cluster` is being deleted.
fn deleting(cluster: &Cluster) -> bool {
    is_deleting(cluster)
}

/// Whether the Cluster's `ControlPlaneInitialized` was true already.
fn was_initialized(cluster: &Cluster) -> bool {
    cluster.condition_is_true("ControlPlaneInitialized")
}
