//! The Machine controller.

mod conditions;
mod deletion;
mod drain;
mod node;
mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::external::{change_key, reference_key};
use engine::names::{CONTROL_PLANE, DEPLOYMENT_NAME};
use engine::object::{annotation, is_deleting, label};
use engine::{
    Action, Change, Controller, Descriptor, Error, External, GroupKind, ExternalObject, Health, Manager, NamespacedName, Objects,
    Reconciler, Request, Result, Workload, owners,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::EvictParams;
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

pub use plan::{Plan, plan};

use crate::change::{Reference, apply_external, cluster_of, finish, is_paused, without_cluster, write_back};
use crate::machine_deployment::REVISION;

/// The finalizer.
pub const FINALIZER: &str = "machine.cluster.x-k8s.io";
/// Conditions that this controller owns.
const OWNED: &[&str] = &[
    "Available",
    "Ready",
    "UpToDate",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "NodeHealthy",
    "NodeReady",
    "Updating",
    "Paused",
    "Deleting",
];
const CONCURRENCY: usize = 100;
/// A workload cluster that answers no more is noticed sooner; then the time-outs of deletions have to run.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const BY_REFERENCE: &str = "reference";
const BY_PROVIDER_ID: &str = "providerID";
const BY_NODE: &str = "node";

/// The Machine's Node, as far as it can be known.
#[derive(Debug, Clone, Default)]
pub enum NodeState {
    /// The workload cluster is not connected.
    #[default]
    NotConnected,
    /// The cluster is connected and has no such Node.
    Absent,
    /// The Node.
    Found(Arc<Node>),
    /// Several Nodes have the Machine's provider ID: their names.
    Ambiguous(Vec<String>),
}

impl NodeState {
    /// The Node.
    pub fn found(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Found(node) => Some(node),
            _ => None,
        }
    }
}

/// Everything that a plan for a Machine depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSet that controls it.
    pub set: Option<Arc<MachineSet>>,
    /// The MachineDeployment that controls that.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// `spec.bootstrap.configRef`.
    pub bootstrap: Reference,
    /// `spec.infrastructureRef`.
    pub infrastructure: Reference,
    /// Its Node.
    pub node: NodeState,
    /// The connection to the cluster.
    pub health: Health,
    /// Only while it is being deleted: the Cluster's control plane object.
    pub control_plane: Reference,
    /// Only while it is being deleted: there are control plane Machines that are not.
    pub has_control_plane_machines: bool,
    /// Only while it is being deleted: the Pods on its Node; `None` while they are not known.
    pub pods: Option<Vec<Arc<Pod>>>,
    /// Since when this process has tried to delete its Node.
    pub node_deletion_since: Option<DateTime<Utc>>,
    /// Now.
    pub now: DateTime<Utc>,
}

struct Controls {
    manager: Manager,
    clusters: Objects<Cluster>,
    machines: Objects<Machine>,
    sets: Objects<MachineSet>,
    deployments: Objects<MachineDeployment>,
    external: External,
    recorder: engine::events::Recorder,
    queue: Arc<engine::Queue>,
    /// Since when the deletion of a Machine's Node is tried.
    node_deletions: Mutex<BTreeMap<Request, DateTime<Utc>>>,
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "machine",
    reconciles: &[GroupKind::new(Machine::GROUP, Machine::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let machines = manager.objects::<Machine>();
    machines.index(BY_REFERENCE, |machine| {
        let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
        let references = [Some(&machine.spec.infrastructure_ref), machine.spec.bootstrap.config_ref.as_ref()];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    machines.index(BY_PROVIDER_ID, |machine| {
        machine.spec.provider_id.iter().map(|id| scoped(machine, id)).collect()
    });
    machines
        .index(BY_NODE, |machine| node_name(machine).map(|name| scoped(machine, name)).into_iter().collect());
    let (clusters, sets, deployments) = (manager.objects(), manager.objects(), manager.objects());
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .time_limit(TIME_LIMIT)
        .reconciles(&machines)
        .watches(&clusters, of_cluster(&machines))
        .watches(&sets, of_set(&machines))
        .watches(&deployments, of_deployment(&machines));
    let queue = controller.queue();
    watch_workloads(manager, &machines, &queue);
    let referring = machines.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        names(&referring.by_index(BY_REFERENCE, &change_key(resource, change)))
    });
    let recorder = manager.recorder("machine-controller");
    let manager = manager.clone();
    let node_deletions = Mutex::default();
    controller.start(Controls {
        manager,
        clusters,
        machines,
        sets,
        deployments,
        external,
        recorder,
        queue,
        node_deletions,
    });
}

fn watch_workloads(manager: &Manager, machines: &Objects<Machine>, queue: &Arc<engine::Queue>) {
    let all = machines.clone();
    manager.clusters().notify(queue, move |cluster| names(&all.by_cluster(cluster)));
    let all = machines.clone();
    manager.clusters().watch::<Node>(queue, move |cluster, change| {
        let mut requests = Vec::new();
        for node in change.objects() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            requests.extend(names(&all.by_index(BY_NODE, &format!("{cluster}/{name}"))));
            if let Some(id) = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) {
                requests.extend(names(&all.by_index(BY_PROVIDER_ID, &format!("{cluster}/{id}"))));
            }
        }
        requests
    });
}

/// `namespace/cluster/value`: an index value that is unique across clusters.
fn scoped(machine: &Machine, value: &str) -> String {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}/{value}", machine.spec.cluster_name)
}

fn node_name(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref().map(|node| node.name.as_str())
}

fn names(machines: &[Arc<Machine>]) -> Vec<Request> {
    machines.iter().map(|machine| NamespacedName::of(machine.as_ref())).collect()
}

/// The Machines of a Cluster, when something changed that concerns them.
fn of_cluster(machines: &Objects<Machine>) -> impl Fn(&Change<Cluster>) -> Vec<Request> + use<> {
    let machines = machines.clone();
    move |change| {
        let facts = |cluster: &Arc<Cluster>| {
            let status = cluster.status.as_ref();
            let initialization = status.and_then(|status| status.initialization.clone());
            let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
            let initialized = engine::conditions::has(conditions, "ControlPlaneInitialized", "True");
            (cluster.spec.paused, initialization, initialized, is_deleting(cluster.as_ref()))
        };
        if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
            return Vec::new();
        }
        names(&machines.by_cluster(&change.name()))
    }
}

/// The Machines of a MachineSet, when its template or revision changed.
fn of_set(machines: &Objects<Machine>) -> impl Fn(&Change<MachineSet>) -> Vec<Request> + use<> {
    let machines = machines.clone();
    move |change| {
        let facts = |set: &Arc<MachineSet>| {
            (set.spec.template.clone(), annotation(set.as_ref(), REVISION).map(str::to_owned))
        };
        if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
            return Vec::new();
        }
        change
            .objects()
            .flat_map(|set| names(&machines.by_owner(engine::object::uid(set.as_ref()))))
            .collect()
    }
}

/// The Machines of a MachineDeployment, when its template, rollout or revision changed.
fn of_deployment(machines: &Objects<Machine>) -> impl Fn(&Change<MachineDeployment>) -> Vec<Request> + use<> {
    let machines = machines.clone();
    move |change| {
        let facts = |deployment: &Arc<MachineDeployment>| {
            let revision = annotation(deployment.as_ref(), REVISION).map(str::to_owned);
            (deployment.spec.template.clone(), deployment.spec.rollout.clone(), revision)
        };
        if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
            return Vec::new();
        }
        let name = change.name();
        let mut list = machines.in_namespace(&name.namespace);
        list.retain(|machine| label(machine.as_ref(), DEPLOYMENT_NAME) == Some(name.name.as_str()));
        names(&list)
    }
}

impl Reconciler for Controls {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(machine) = self.machines.get(&request) else {
            self.node_deletions.lock().remove(&request);
            return Ok(Action::done());
        };
        let cluster = match cluster_of::<Machine>(&self.clusters, &request, &machine.spec.cluster_name) {
            Ok(cluster) => cluster,
            Err(missing) => {
                let left = self.has_parts(&machine).await;
                return without_cluster(&self.machines, &machine, FINALIZER, left, missing).await;
            }
        };
        let machine = engine::finalizer::ensure(&self.machines, &machine, FINALIZER).await?;
        let now = self.manager.clock().now();
        if is_paused(&self.machines, &machine, &cluster, (OWNED, now)).await? {
            return Ok(Action::done());
        }
        let observed = self.gather(machine, cluster).await;
        let plan = plan(&observed);
        self.apply(&observed, plan).await
    }
}

impl Controls {
    async fn gather(&self, machine: Arc<Machine>, cluster: Arc<Cluster>) -> Observed {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        let name = NamespacedName::of(cluster.as_ref());
        let bootstrap =
            Reference::read(&self.external, &namespace, machine.spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&machine.spec.infrastructure_ref)).await;
        let set = owners::controller(machine.as_ref())
            .filter(|owner| owner.kind == MachineSet::KIND)
            .and_then(|owner| self.sets.get(&NamespacedName::new(namespace.as_str(), owner.name.as_str())));
        let deployment = set.as_ref().and_then(|set| owners::controller(set.as_ref())).and_then(|owner| {
            self.deployments.get(&NamespacedName::new(namespace.as_str(), owner.name.as_str()))
        });
        let workload = self.manager.clusters().get(&name).ok();
        let provider_id = provider_id(&machine, &infrastructure);
        let mut observed = Observed {
            node: node_state(workload.as_deref(), &machine, provider_id.as_deref()),
            health: self.manager.clusters().health(&name),
            control_plane: Reference::None,
            has_control_plane_machines: true,
            pods: None,
            node_deletion_since: self
                .node_deletions
                .lock()
                .get(&NamespacedName::of(machine.as_ref()))
                .copied(),
            now: self.manager.clock().now(),
            machine,
            cluster,
            set,
            deployment,
            bootstrap,
            infrastructure,
        };
        if is_deleting(observed.machine.as_ref()) {
            self.gather_deletion(&mut observed, workload.as_ref()).await;
        }
        observed
    }

    /// Whether a Machine has infrastructure or bootstrap data, or may have.
    async fn has_parts(&self, machine: &Machine) -> bool {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        for reference in [Some(&machine.spec.infrastructure_ref), machine.spec.bootstrap.config_ref.as_ref()]
        {
            let found = Reference::read(&self.external, &namespace, reference).await;
            if !matches!(found, Reference::None | Reference::NotFound) {
                return true;
            }
        }
        false
    }

    async fn gather_deletion(&self, observed: &mut Observed, workload: Option<&Arc<Workload>>) {
        let name = NamespacedName::of(observed.cluster.as_ref());
        let reference = observed.cluster.spec.control_plane_ref.as_ref();
        observed.control_plane = Reference::read(&self.external, &name.namespace, reference).await;
        observed.has_control_plane_machines = self.machines.by_cluster(&name).iter().any(|machine| {
            label(machine.as_ref(), CONTROL_PLANE).is_some() && !is_deleting(machine.as_ref())
        });
        let needs_pods = deletion::needs_pods(observed);
        if let (Some(workload), Some(node), true) = (workload, observed.node.found(), needs_pods) {
            let node = node.metadata.name.clone().unwrap_or_default();
            observed.pods = self.pods(workload, &node).await;
        }
    }

    /// The Pods on a Node; `None` where the cluster does not tell in time. The first drain in a cluster starts to watch its Pods.
    async fn pods(&self, workload: &Arc<Workload>, node: &str) -> Option<Vec<Arc<Pod>>> {
        let pods = workload.objects::<Pod>();
        if workload.first_time("drain") {
            pods.index(BY_NODE, |pod| pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect());
            let (machines, cluster) = (self.machines.clone(), workload.cluster().clone());
            pods.notify(&self.queue, move |change| {
                let on = change.objects().filter_map(|pod| pod.spec.as_ref()?.node_name.clone());
                let mut list: Vec<Arc<Machine>> =
                    on.flat_map(|node| machines.by_index(BY_NODE, &format!("{cluster}/{node}"))).collect();
                list.retain(|machine| is_deleting(machine.as_ref()));
                names(&list)
            });
        }
        // The connection may end at any time, and the time-outs of the deletion have to run on.
        tokio::time::timeout(PODS_TIMEOUT, pods.wait_until_synced()).await.ok()?;
        Some(pods.by_index(BY_NODE, node))
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Result<Action> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        let mut action = plan.action;
        errors.extend(apply_external(&self.external, &plan.external).await);
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        if let Ok(workload) = self.manager.clusters().get(&cluster) {
            if let (Some(node), Some(wanted)) = (observed.node.found(), &plan.node) {
                errors.extend(workload.objects::<Node>().patch(node, wanted, &[]).await.err());
            }
            match evict(&workload, &plan.evict).await {
                Ok(true) => {}
                Ok(false) => action = action.min(Action::requeue_after(drain::RETRY)),
                Err(error) => errors.push(error),
            }
            if let (Some(node), true) = (observed.node.found(), plan.delete_node) {
                errors.extend(workload.objects::<Node>().delete(node.as_ref()).await.err());
            }
        }
        for object in &plan.delete {
            errors.extend(self.delete_external(object).await.err());
        }
        if plan.delete_node {
            let machine = NamespacedName::of(observed.machine.as_ref());
            self.node_deletions.lock().entry(machine).or_insert(observed.now);
        }
        for event in plan.events {
            match event.warning {
                true => self.recorder.warning(observed.machine.as_ref(), &(), event.reason, event.message),
                false => self.recorder.normal(observed.machine.as_ref(), &(), event.reason, event.message),
            }
        }
        let errors = write_back(&self.machines, &observed.machine, plan.machine, OWNED, errors, |machine| {
            &mut machine.status.get_or_insert_default().observed_generation
        })
        .await;
        finish(errors, action)
    }

    async fn delete_external(&self, object: &ExternalObject) -> Result<()> {
        self.external.handle(object).delete(object.object.as_ref()).await
    }
}

/// Evicts Pods; false when a PodDisruptionBudget forbids one for now.
async fn evict(workload: &Workload, pods: &[NamespacedName]) -> Result<bool> {
    let mut all = true;
    for pod in pods {
        let api = kube::Api::<Pod>::namespaced(workload.client().clone(), &pod.namespace);
        match api.evict(&pod.name, &EvictParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Api(status)) if status.code == 429 => all = false,
            Err(error) => return Err(Error::api(format!("evict Pod {pod}"), error)),
        }
    }
    Ok(all)
}

/// The provider ID: the Machine's, or what its infrastructure reports once it is provisioned.
fn provider_id(machine: &Machine, infrastructure: &Reference) -> Option<String> {
    machine.spec.provider_id.clone().or_else(|| {
        let object = infrastructure.found().filter(|object| plan::is_infrastructure_provisioned(object))?;
        object.text("/spec/providerID").map(str::to_owned)
    })
}

fn node_state(workload: Option<&Workload>, machine: &Machine, provider_id: Option<&str>) -> NodeState {
    let Some(workload) = workload else { return NodeState::NotConnected };
    let nodes = workload.objects::<Node>();
    nodes
        .index(BY_PROVIDER_ID, |node| node.spec.iter().filter_map(|spec| spec.provider_id.clone()).collect());
    let found = provider_id.map(|id| nodes.by_index(BY_PROVIDER_ID, id)).unwrap_or_default();
    let name = |node: &Arc<Node>| node.metadata.name.clone().unwrap_or_default();
    // A Node of that name with another provider ID is another machine's.
    let is_other = |node: &Arc<Node>| {
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).filter(|id| !id.is_empty());
        id.is_some() && provider_id.is_some() && id != provider_id
    };
    match found.as_slice() {
        [node] => NodeState::Found(node.clone()),
        [] => {
            let named = node_name(machine).and_then(|name| nodes.get(&NamespacedName::new("", name)));
            named.filter(|node| !is_other(node)).map_or(NodeState::Absent, NodeState::Found)
        }
        several if is_deleting(machine) && node_name(machine).is_some() => {
            let named = several.iter().find(|node| node_name(machine) == Some(name(node).as_str()));
            named.map_or(NodeState::Absent, |node| NodeState::Found(node.clone()))
        }
        several => NodeState::Ambiguous(several.iter().map(name).collect()),
    }
}

/// How long a reconcile waits for the Pods of a cluster whose Pods nobody has asked for before.
const PODS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a step of a deletion that no event ends waits before it is looked at again.
const DELETION_RETRY: Duration = Duration::from_secs(20);
