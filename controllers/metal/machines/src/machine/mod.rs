//! The Metal3Machine controller: claims a host, has data rendered for it, provisions it and finds its Node.

mod apply;
mod bootstrap;
mod deletion;
pub mod host;
pub mod node;
mod observe;
pub mod observed;
pub mod plan;
pub mod status;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::{infrastructure_requests, requests_of};
use engine::object::{annotation, label};
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Queue, Request, Result, conditions, owners,
};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{Metal3Data, Metal3Machine};
use schemas::metal3::BareMetalHost;

use crate::host::became_free;
use crate::names::{HOST, HOST_UUID, MACHINE_FINALIZER};
use observe::Metal3MachineController;
pub(crate) use observe::{BY_CONSUMER, consumer};
pub use observed::Observed;
pub use plan::{Plan, plan};

/// Index of hosts by UID.
const BY_UID: &str = "uid";
/// Number of Metal3Machines that are reconciled at the same time.
const CONCURRENCY: usize = 32;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "metal3machine",
    reconciles: &[GroupKind::new(Metal3Machine::GROUP, Metal3Machine::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the Metal3Machine controller.
fn start(manager: &Manager) {
    let controller = Metal3MachineController {
        objects: manager.objects(),
        machines: manager.objects(),
        clusters: manager.objects(),
        metal3_clusters: manager.objects(),
        templates: manager.objects(),
        hosts: manager.objects(),
        claims: manager.objects(),
        data: manager.objects(),
        secrets: manager.objects(),
        claiming: Default::default(),
        recorder: manager.recorder("metal3machine-controller"),
        manager: manager.clone(),
    };
    controller.hosts.index(BY_CONSUMER, |host| consumer(host).iter().map(ToString::to_string).collect());
    controller.hosts.index(BY_UID, |host| host.metadata.uid.iter().cloned().collect());
    let (waiting, of_cluster) = (controller.objects.clone(), controller.objects.clone());
    let reconciles = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&controller.objects)
        .watches(&controller.machines, infrastructure_requests::<Metal3Machine>)
        .watches(&controller.clusters, move |change| requests_of(&of_cluster.by_cluster(&change.name())))
        .watches(&controller.hosts, move |change| of_host(change, &waiting))
        .watches(&controller.claims, |change| vec![change.name()])
        .watches(&controller.data, of_data)
        .reads(&controller.metal3_clusters)
        .reads(&controller.templates)
        .reads(&controller.secrets);
    watch_nodes(&controller, &reconciles.queue());
    reconciles.start(Frame::new(controller));
}

/// Requests the consumer of a host. A host that became available is news for all machines that wait for one.
fn of_host(change: &Change<BareMetalHost>, machines: &Objects<Metal3Machine>) -> Vec<Request> {
    let mut requests: Vec<Request> = change.objects().filter_map(|host| consumer(host)).collect();
    if became_free(change) {
        let mut all = machines.in_namespace(&change.name().namespace);
        all.retain(|machine| annotation(machine.as_ref(), HOST).is_none());
        requests.extend(requests_of(&all));
    }
    requests.dedup();
    requests
}

/// Requests the Metal3Machine of a Metal3Data, which has the name of the data's claim.
fn of_data(change: &Change<Metal3Data>) -> Vec<Request> {
    let claim = |data: &Arc<Metal3Data>| {
        let claim = data.spec.claim.as_ref()?.name.clone()?;
        Some(NamespacedName::new(change.name().namespace, claim))
    };
    change.new.iter().chain(&change.old).filter_map(claim).take(1).collect()
}

fn watch_nodes(controller: &Metal3MachineController, queue: &Arc<Queue>) {
    let (machines, hosts) = (controller.objects.clone(), controller.hosts.clone());
    let clusters = controller.manager.clusters();
    clusters.notify(queue, move |cluster| requests_of(&machines.by_cluster(cluster)));
    clusters.watch::<Node>(queue, move |cluster, change| {
        let identity = |node: &Arc<Node>| {
            let id = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
            (id, label(node.as_ref(), HOST_UUID).map(str::to_owned))
        };
        if change.old.as_ref().map(identity) == change.new.as_ref().map(identity) {
            return Vec::new();
        }
        let mut requests = Vec::new();
        for (id, host) in change.objects().map(identity) {
            requests.extend(id.as_deref().and_then(node::machine_of));
            let labelled = host.map(|host| hosts.by_index(BY_UID, &host)).unwrap_or_default();
            requests.extend(labelled.iter().filter_map(|host| consumer(host)));
        }
        requests.retain(|request| request.namespace == cluster.namespace);
        requests
    });
}

impl Planned for Metal3MachineController {
    type Object = Metal3Machine;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(MACHINE_FINALIZER);
    const OWNED: &'static [&'static str] = status::OWNED;

    fn objects(&self) -> &Objects<Metal3Machine> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Without an owner there is no Cluster yet, and the condition says so.
    fn cluster(&self, object: &Arc<Metal3Machine>) -> Membership {
        if owners::find(object.as_ref(), Machine::GROUP, Machine::KIND).is_none() {
            return Membership::None;
        }
        let name = match self.machine_of(object) {
            Some(machine) => machine.spec.cluster_name.clone(),
            None => label(object.as_ref(), engine::names::CLUSTER_NAME).unwrap_or_default().to_owned(),
        };
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let cluster = self.clusters.get(&NamespacedName::new(namespace, name));
        cluster.map_or(Membership::Missing(None), Membership::Of)
    }

    async fn has_parts(&self, object: &Arc<Metal3Machine>) -> bool {
        let name = NamespacedName::of(object.as_ref());
        !self.hosts.by_index(BY_CONSUMER, &name.to_string()).is_empty()
    }

    async fn while_paused(&self, wanted: &mut Metal3Machine, cluster: Option<&Arc<Cluster>>) -> Result<()> {
        self.pause_host(wanted, cluster.map(AsRef::as_ref)).await
    }

    async fn observe(
        &self,
        object: Arc<Metal3Machine>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        Ok(Some(self.read(object, cluster)))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<Metal3Machine> {
        self.execute(observed, plan).await
    }

    fn report(object: &mut Metal3Machine, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set_not_ready(object, errors, now);
    }
}
