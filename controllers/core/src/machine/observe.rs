//! Reads the objects on which the plan of a Machine depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::in_place::{self, SharedUpdater};
use engine::names::{CLUSTER_NAME, CONTROL_PLANE};
use engine::object::{is_deleting, label};
use engine::{External, Manager, NamespacedName, Objects, Request, Result, Workload, owners};
use k8s_openapi::api::core::v1::{Node, Secret};
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineDrainRule, MachineSet};

use super::facts::{is_infrastructure_provisioned, node_name, was_provisioned};
use super::observed::{LastEviction, LastUpdate, NodePods, NodeState, Observed, OnDemand};
use super::pod_watches::PodWatches;
use super::{deletion, drain, taints, workload};
use crate::change::Reference;
use crate::contract::PROVIDER_ID;
use crate::nodes::with_provider_id;

/// Index of Machines by provider ID.
pub(super) const BY_PROVIDER_ID: &str = "providerID";
/// Index of Machines by Node.
pub(super) const BY_NODE: &str = "node";

/// The controller of Machines.
pub(super) struct MachineController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub machines: Objects<Machine>,
    pub sets: Objects<MachineSet>,
    pub deployments: Objects<MachineDeployment>,
    pub drain_rules: Objects<MachineDrainRule>,
    pub secrets: Objects<Secret>,
    pub external: External,
    pub recorder: engine::events::Recorder,
    pub queue: Arc<engine::Queue>,
    /// The time at which this process first tried to delete the Node of each Machine.
    pub node_deletions: Mutex<BTreeMap<Request, DateTime<Utc>>>,
    /// The last evictions of the Pods on each Machine's Node.
    pub evictions: Mutex<BTreeMap<Request, BTreeMap<NamespacedName, LastEviction>>>,
    pub updater: SharedUpdater,
    /// The last call of the update in place of each Machine that is being updated.
    pub updates: Mutex<BTreeMap<Request, LastUpdate>>,
    pub pod_watches: PodWatches,
}

impl MachineController {
    /// Reads the state on which the plan of `machine` depends.
    pub(super) async fn read(&self, machine: Arc<Machine>, cluster: Arc<Cluster>) -> Observed {
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
        let node = node_state(workload.as_deref(), &machine, provider_id.as_deref());
        let mut observed = Observed {
            propagates_taints: self.manager.features().machine_taint_propagation
                && taints::are_propagated(&machine.spec.taints, node.found().map(AsRef::as_ref)),
            node,
            health: self.manager.clusters().health(&name),
            control_plane: Reference::None,
            has_control_plane_machines: true,
            drain_rules: Vec::new(),
            pods: OnDemand::NotRead,
            evictions: self
                .evictions
                .lock()
                .get(&NamespacedName::of(machine.as_ref()))
                .cloned()
                .unwrap_or_default(),
            volumes: OnDemand::NotRead,
            node_deletion_since: self
                .node_deletions
                .lock()
                .get(&NamespacedName::of(machine.as_ref()))
                .copied(),
            updates_in_place: self.manager.features().in_place_updates,
            last_update: self.last_update(&machine),
            now: self.manager.clock().now(),
            data_secret_problem: self.data_secret_problem(&machine),
            machine,
            cluster,
            set,
            deployment,
            bootstrap,
            infrastructure,
        };
        if is_deleting(observed.machine.as_ref()) {
            self.read_deletion(&mut observed, workload.as_deref()).await;
        }
        observed
    }

    /// Returns the last call of the update in place that is in progress, and forgets those of earlier updates.
    fn last_update(&self, machine: &Machine) -> Option<LastUpdate> {
        let (key, mut updates) = (NamespacedName::of(machine), self.updates.lock());
        if !in_place::is_in_progress(machine) {
            updates.remove(&key);
        }
        updates.get(&key).cloned()
    }

    /// Returns what is wrong with the Secret that the Machine starts from.
    fn data_secret_problem(&self, machine: &Machine) -> Option<String> {
        let name =
            machine.spec.bootstrap.data_secret_name.as_deref().filter(|_| !was_provisioned(machine))?;
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        let Some(secret) = self.secrets.get(&NamespacedName::new(namespace, name)) else {
            return Some(format!("* Secret {name} does not exist: it must have the bootstrap data"));
        };
        let other =
            label(secret.as_ref(), CLUSTER_NAME).filter(|other| *other != machine.spec.cluster_name)?;
        Some(format!("* Secret {name} belongs to Cluster {other}: name a Secret of this Cluster"))
    }

    /// Returns whether the Machine's infrastructure or bootstrap object exists or could not be read.
    pub(super) async fn has_any_part(&self, machine: &Machine) -> bool {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        let references = [Some(&machine.spec.infrastructure_ref), machine.spec.bootstrap.config_ref.as_ref()];
        Reference::any_exists(&self.external, &namespace, references).await
    }

    async fn read_deletion(&self, observed: &mut Observed, workload: Option<&Workload>) {
        let name = NamespacedName::of(observed.cluster.as_ref());
        let reference = observed.cluster.spec.control_plane_ref.as_ref();
        observed.control_plane = Reference::read(&self.external, &name.namespace, reference).await;
        observed.has_control_plane_machines = self.machines.by_cluster(&name).iter().any(|machine| {
            label(machine.as_ref(), CONTROL_PLANE).is_some() && !is_deleting(machine.as_ref())
        });
        observed.drain_rules = self.drain_rules.in_namespace(&name.namespace);
        let (Some(workload), Some(node)) = (workload, observed.node.found().cloned()) else { return };
        if deletion::needs_pods(observed) {
            observed.pods = on_demand(self.read_pods(observed, workload, &node).await);
        }
        if deletion::needs_volumes(observed) {
            let reads_attachments = self.manager.features().volume_attachments;
            observed.volumes = on_demand(workload::volumes(workload, &node, reads_attachments).await);
        }
    }

    /// Reads the Pods on the Node, and requests a reconcile for the next change of one of them.
    async fn read_pods(&self, observed: &Observed, workload: &Workload, node: &Node) -> Result<NodePods> {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let (pods, version) = workload::pods(workload, name).await?;
        let missing_daemon_sets = workload::missing_daemon_sets(workload, &pods).await?;
        let namespaces = match drain::needs_namespaces(observed) {
            true => workload::namespaces(workload).await?,
            false => BTreeMap::new(),
        };
        let request = NamespacedName::of(observed.machine.as_ref());
        self.pod_watches.start(&self.manager, &self.queue, request, workload, name, version);
        Ok(NodePods { pods, missing_daemon_sets, namespaces })
    }
}

fn on_demand<T>(read: Result<T>) -> OnDemand<T> {
    read.map_or_else(|error| OnDemand::Failed(error.to_string()), OnDemand::Found)
}

/// Returns the Machine's provider ID, or else the ID that its provisioned infrastructure reports.
fn provider_id(machine: &Machine, infrastructure: &Reference) -> Option<String> {
    machine.spec.provider_id.clone().or_else(|| {
        let object = infrastructure.found().filter(|object| is_infrastructure_provisioned(object))?;
        PROVIDER_ID.read_text(object).map(str::to_owned)
    })
}

fn node_state(workload: Option<&Workload>, machine: &Machine, provider_id: Option<&str>) -> NodeState {
    let Some(workload) = workload else { return NodeState::NotConnected };
    let nodes = workload.objects::<Node>();
    let found = provider_id.map(|id| with_provider_id(&nodes, id)).unwrap_or_default();
    let name = |node: &Arc<Node>| node.metadata.name.clone().unwrap_or_default();
    // A Node with the Machine's node name but another provider ID belongs to another machine.
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
