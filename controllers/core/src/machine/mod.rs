//! The Machine controller.

mod apply;
mod changes;
mod deletion;
mod drain;
mod facts;
mod node;
mod observe;
mod observed;
mod plan;
pub mod pod_watches;
mod provider_id;
mod status;
mod taints;
pub mod update;
mod v1beta1;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::{change_key, reference_key};
use engine::in_place::SharedUpdater;
use engine::names::DEPLOYMENT_NAME;
use engine::object::{annotation, is_deleting, label};
use engine::{
    Change, Controller, Descriptor, Error, External, Frame, GroupKind, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned, Request, Result,
};
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineDrainRule, MachineSet};
use schemas::deletion_grace::is_torn_down;

pub use changes::Plan;
pub use drain::{EVICTION_LIMIT, Eviction, REFUSAL_LENGTH, refusal};
pub(crate) use facts::{data_secret_name, node_name};
pub use observed::{
    LastEviction, LastUpdate, NodePods, NodeState, NodeVolumes, Observed, OnDemand, UpdateOutcome,
};
pub use plan::{FINALIZER, plan};

use crate::change::{cluster_of, report};
use crate::machine_deployment::REVISION;
use observe::{BY_NODE, BY_PROVIDER_ID, MachineController};
use pod_watches::PodWatches;

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
/// Limit for a reconcile. A workload cluster that stops answering is detected earlier; after that, the
/// time-outs of deletions must continue.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const BY_REFERENCE: &str = "reference";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> =
    Descriptor { name: "machine", reconciles: &[GroupKind::new(Machine::GROUP, Machine::KIND)], start };

/// Starts the Machine controller.
fn start(manager: &Manager, updater: &SharedUpdater) {
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
    let (drain_rules, secrets) = (manager.objects(), manager.objects());
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .time_limit(TIME_LIMIT)
        .reconciles(&machines)
        .watches(&clusters, of_cluster(&machines))
        .watches(&sets, of_set(&machines))
        .watches(&deployments, of_deployment(&machines))
        .watches(&drain_rules, of_drain_rule(&machines))
        .reads(&secrets);
    let queue = controller.queue();
    watch_workloads(manager, &machines, &queue);
    let referring = machines.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        requests_of(&referring.by_index(BY_REFERENCE, &change_key(resource, change)))
    });
    let recorder = manager.recorder("machine-controller");
    let manager = manager.clone();
    controller.start(Frame::new(MachineController {
        manager,
        clusters,
        machines,
        sets,
        deployments,
        drain_rules,
        secrets,
        external,
        recorder,
        queue,
        node_deletions: Mutex::default(),
        evictions: Mutex::default(),
        updater: updater.clone(),
        updates: Mutex::default(),
        pod_watches: PodWatches::default(),
    }));
}

fn watch_workloads(manager: &Manager, machines: &Objects<Machine>, queue: &Arc<engine::Queue>) {
    let all = machines.clone();
    manager.clusters().notify(queue, move |cluster| requests_of(&all.by_cluster(cluster)));
    let all = machines.clone();
    manager.clusters().watch::<Node>(queue, move |cluster, change| {
        let mut requests = Vec::new();
        for node in change.objects() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            requests.extend(requests_of(&with_node(&all, cluster, name)));
            if let Some(id) = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) {
                requests.extend(requests_of(&all.by_index(BY_PROVIDER_ID, &format!("{cluster}/{id}"))));
            }
        }
        requests
    });
}

/// Returns the Machines of a Cluster whose Node has this name.
pub(crate) fn with_node(
    machines: &Objects<Machine>,
    cluster: &NamespacedName,
    node: &str,
) -> Vec<Arc<Machine>> {
    machines.by_index(BY_NODE, &format!("{cluster}/{node}"))
}

/// Returns `namespace/cluster/value`, an index key that is unique across clusters.
fn scoped(machine: &Machine, value: &str) -> String {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}/{value}", machine.spec.cluster_name)
}

/// Requests the Machines of a Cluster if a field changed that their plans depend on.
fn of_cluster(machines: &Objects<Machine>) -> impl Fn(&Change<Cluster>) -> Vec<Request> + use<> {
    let machines = machines.clone();
    move |change| {
        let facts = |cluster: &Arc<Cluster>| {
            let status = cluster.status.as_ref();
            let initialization = status.and_then(|status| status.initialization.clone());
            let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
            let initialized = engine::conditions::has(conditions, "ControlPlaneInitialized", "True");
            (cluster.spec.paused, initialization, initialized, is_torn_down(cluster))
        };
        if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
            return Vec::new();
        }
        requests_of(&machines.by_cluster(&change.name()))
    }
}

/// Requests the Machines of a MachineSet if its template or revision changed.
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
            .flat_map(|set| requests_of(&machines.by_owner(engine::object::uid(set.as_ref()))))
            .collect()
    }
}

/// Requests the Machines of a MachineDeployment if its template, rollout or revision changed.
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
        requests_of(&list)
    }
}

/// Requests the Machines that are being deleted in the namespace of a changed MachineDrainRule.
fn of_drain_rule(machines: &Objects<Machine>) -> impl Fn(&Change<MachineDrainRule>) -> Vec<Request> + use<> {
    let machines = machines.clone();
    move |change| {
        let mut list = machines.in_namespace(&change.name().namespace);
        list.retain(|machine| is_deleting(machine.as_ref()));
        requests_of(&list)
    }
}

impl Planned for MachineController {
    type Object = Machine;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<Machine> {
        &self.machines
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, machine: &Arc<Machine>) -> Membership {
        cluster_of(&self.clusters, machine.as_ref(), &machine.spec.cluster_name)
    }

    async fn has_parts(&self, machine: &Arc<Machine>) -> bool {
        self.has_any_part(machine).await
    }

    async fn forget(&self, request: &Request) {
        self.node_deletions.lock().remove(request);
        self.evictions.lock().remove(request);
        self.updates.lock().remove(request);
        self.pod_watches.stop(request);
    }

    async fn observe(
        &self,
        machine: Arc<Machine>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        Ok(Some(self.read(machine, cluster).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<Machine> {
        self.execute(observed, plan).await
    }

    fn report(machine: &mut Machine, errors: &[&Error], _: DateTime<Utc>) {
        report(machine, &["Deleting"], errors);
    }

    fn observed_generation(machine: &mut Machine) -> Option<&mut Option<i64>> {
        Some(&mut machine.status.get_or_insert_default().observed_generation)
    }
}
