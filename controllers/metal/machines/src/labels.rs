//! Copies labels of hosts to their Nodes, for the prefixes that the Metal3Cluster names (`contract/metal3`, §2.7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::controller::requests_of;
use engine::object::annotation;
use engine::{Action, Controller, Descriptor, Manager, NamespacedName, Objects, Reconciler, Request, Result};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Cluster, Metal3Machine};
use schemas::metal3::BareMetalHost;

use crate::machine::consumer;
use crate::machine::node::machine_of;
use crate::names::{HOST, LABEL_SYNC_PREFIXES};

/// The descriptor of the controller, which reconciles no kind of its own.
pub const CONTROLLER: Descriptor =
    Descriptor { name: "metal3labelsync", reconciles: &[], start: |manager, ()| start(manager) };

/// Starts the controller.
fn start(manager: &Manager) {
    let reconciler = LabelReconciler {
        hosts: manager.objects(),
        machines: manager.objects(),
        clusters: manager.objects(),
        metal3_clusters: manager.objects(),
        manager: manager.clone(),
    };
    let all = reconciler.machines.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .watches(&reconciler.hosts.clone(), |change| {
            let labels = |host: &Arc<BareMetalHost>| host.metadata.labels.clone();
            let has_changed = change.old.as_ref().map(labels) != change.new.as_ref().map(labels);
            let host = change.new.as_ref().filter(|_| has_changed);
            host.and_then(|host| consumer(host)).into_iter().collect()
        })
        .watches(&reconciler.machines.clone(), |change| {
            let id = |machine: &Arc<Metal3Machine>| machine.spec.provider_id.clone();
            match change.old.as_ref().map(id) == change.new.as_ref().map(id) {
                true => Vec::new(),
                false => vec![change.name()],
            }
        })
        .watches(&reconciler.metal3_clusters.clone(), move |change| {
            let mut machines = all.in_namespace(&change.name().namespace);
            machines.retain(|machine| machine.spec.provider_id.is_some());
            requests_of(&machines)
        })
        .reads(&reconciler.clusters.clone());
    manager.clusters().watch::<Node>(&controller.queue(), |cluster, change| {
        let id =
            |node: &Arc<Node>| node.spec.as_ref().and_then(|spec| machine_of(spec.provider_id.as_deref()?));
        let labels = |node: &Arc<Node>| node.metadata.labels.clone();
        if change.old.as_ref().map(labels) == change.new.as_ref().map(labels) {
            return Vec::new();
        }
        change
            .new
            .as_ref()
            .and_then(id)
            .filter(|name| name.namespace == cluster.namespace)
            .into_iter()
            .collect()
    });
    controller.start(reconciler);
}

struct LabelReconciler {
    hosts: Objects<BareMetalHost>,
    machines: Objects<Metal3Machine>,
    clusters: Objects<Cluster>,
    metal3_clusters: Objects<Metal3Cluster>,
    manager: Manager,
}

impl Reconciler for LabelReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        self.sync(&request).await.map(|()| Action::done())
    }
}

impl LabelReconciler {
    async fn sync(&self, request: &Request) -> Result<()> {
        let Some(machine) = self.machines.get(request) else { return Ok(()) };
        let Some((cluster, prefixes)) = self.prefixes(&machine) else { return Ok(()) };
        let host = annotation(machine.as_ref(), HOST).and_then(NamespacedName::parse);
        // The annotation may name a host of somebody else.
        let host = host.filter(|host| host.namespace == request.namespace);
        let host = host.and_then(|host| self.hosts.get(&host));
        // An event of the connection's Nodes comes when the cluster can be reached.
        let (Some(host), Ok(workload)) = (host, self.manager.clusters().get(&cluster)) else { return Ok(()) };
        let nodes = workload.objects::<Node>();
        let has_id = |node: &&Arc<Node>| {
            node.spec.as_ref().is_some_and(|spec| spec.provider_id == machine.spec.provider_id)
        };
        let all = nodes.all();
        let Some(node) = all.iter().find(has_id).filter(|_| machine.spec.provider_id.is_some()) else {
            return Ok(());
        };
        let mut wanted = node.as_ref().clone();
        let empty = BTreeMap::new();
        let labels = wanted.metadata.labels.get_or_insert_default();
        sync(labels, host.metadata.labels.as_ref().unwrap_or(&empty), &prefixes);
        nodes.patch(node, &wanted, &[]).await.map(drop)
    }

    /// Returns the Cluster of a machine, and the prefixes of labels that are copied there; `None` if none are.
    fn prefixes(&self, machine: &Metal3Machine) -> Option<(NamespacedName, BTreeSet<String>)> {
        let namespace = machine.metadata.namespace.as_deref()?;
        let name = engine::object::label(machine, engine::names::CLUSTER_NAME)?;
        let name = NamespacedName::new(namespace, name);
        let cluster = self.clusters.get(&name).filter(|cluster| cluster.spec.paused != Some(true))?;
        let infrastructure = cluster.spec.infrastructure_ref.as_ref()?.name.as_str();
        let infrastructure = self.metal3_clusters.get(&NamespacedName::new(namespace, infrastructure))?;
        let list = annotation(infrastructure.as_ref(), LABEL_SYNC_PREFIXES)?;
        let prefixes = list.split(',').map(str::trim).filter(|prefix| !prefix.is_empty());
        Some((name, prefixes.map(str::to_owned).collect()))
    }
}

/// Makes the labels with these prefixes equal to those of the host.
pub fn sync(
    labels: &mut BTreeMap<String, String>,
    host: &BTreeMap<String, String>,
    prefixes: &BTreeSet<String>,
) {
    let is_synced = |key: &str| key.split_once('/').is_some_and(|(prefix, _)| prefixes.contains(prefix));
    labels.retain(|key, _| !is_synced(key) || host.contains_key(key));
    let synced = host.iter().filter(|(key, _)| is_synced(key));
    labels.extend(synced.map(|(key, value)| (key.clone(), value.clone())));
}
