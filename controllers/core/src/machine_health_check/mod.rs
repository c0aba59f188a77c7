//! The MachineHealthCheck controller: it says on each Machine whether it is healthy, and asks for the remediation of those that are not.

mod apply;
mod health;
mod observe;
mod observed;
mod plan;
mod remedy;
mod trigger;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::change_key;
use engine::in_place::SharedUpdater;
use engine::object::is_deleting;
use engine::{
    Change, Controller, Descriptor, External, Frame, GroupKind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Queue, Request, Result, owners,
};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineHealthCheck};
use schemas::meta::TemplateReference;

pub use observed::{MachineNode, Observed, Target};
pub use plan::{Mark, Plan, plan};

use crate::change::cluster_of;
use crate::machine;
use engine::selector;
use observe::{HealthCheckController, template_of};

/// The condition of Machines that this controller owns. What it says after that is left to those who remediate.
const SUCCEEDED: &str = "HealthCheckSucceeded";
const EXTERNAL: &str = "ExternallyRemediated";
const OWNED: &[&str] = &["RemediationAllowed", "Paused"];
const BY_CLUSTER_NAME: &str = "spec.clusterName";
const BY_TEMPLATE: &str = "spec.remediation.templateRef";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "machinehealthcheck",
    reconciles: &[GroupKind::new(MachineHealthCheck::GROUP, MachineHealthCheck::KIND)],
    start: |manager, _| start(manager),
};

/// Starts the MachineHealthCheck controller.
fn start(manager: &Manager) {
    let checks = manager.objects::<MachineHealthCheck>();
    let namespace = |check: &MachineHealthCheck| check.metadata.namespace.clone().unwrap_or_default();
    checks.index(BY_CLUSTER_NAME, move |check| {
        vec![NamespacedName::new(namespace(check), check.spec.cluster_name.as_str()).to_string()]
    });
    checks.index(BY_TEMPLATE, move |check| {
        let key = |template: &TemplateReference| {
            let (group, _) = template.api_version.split_once('/').unwrap_or_default();
            format!("{}.{group}/{}/{}", template.kind, namespace(check), template.name)
        };
        template_of(check).map(key).into_iter().collect()
    });
    let (clusters, machines) = (manager.objects::<Cluster>(), manager.objects::<Machine>());
    let (of_clusters, of_machines) = (checks.clone(), checks.clone());
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&checks)
        .watches(&clusters, move |change| of_cluster(&of_clusters, change))
        .watches(&machines, move |change| of_machine(&of_machines, change));
    let queue = controller.queue();
    watch_workloads(manager, &checks, &machines, &queue);
    let (referring, owning) = (checks.clone(), machines.clone());
    let external = External::new(manager, &queue, move |resource, change| {
        // Only whether the object exists matters, not its content.
        if change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        let mut requests = requests_of(&referring.by_index(BY_TEMPLATE, &change_key(resource, change)));
        requests.extend(of_request(&referring, &owning, change));
        requests
    });
    let recorder = manager.recorder("machinehealthcheck-controller");
    let manager = manager.clone();
    controller.start(Frame::new(HealthCheckController {
        manager,
        clusters,
        checks,
        machines,
        external,
        recorder,
    }));
}

/// Requests the MachineHealthChecks of a cluster that was connected or lost, and those of the Machine of a Node whose conditions changed.
fn watch_workloads(
    manager: &Manager,
    checks: &Objects<MachineHealthCheck>,
    machines: &Objects<Machine>,
    queue: &Arc<Queue>,
) {
    let all = checks.clone();
    manager
        .clusters()
        .notify(queue, move |cluster| requests_of(&all.by_index(BY_CLUSTER_NAME, &cluster.to_string())));
    let (checks, machines) = (checks.clone(), machines.clone());
    manager.clusters().watch::<Node>(queue, move |cluster, change| {
        let node = change.name().name;
        let machines = machine::with_node(&machines, cluster, &node);
        let requests: Vec<Request> =
            machines.iter().flat_map(|machine| selecting(&checks, machine)).collect();
        let is_same = || change.old.as_ref().map(node_facts) == change.new.as_ref().map(node_facts);
        if requests.is_empty() || is_same() { Vec::new() } else { requests }
    });
}

/// Returns what matters of a Node: heartbeats change nothing of it.
fn node_facts(node: &Arc<Node>) -> Vec<NodeCondition> {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten().cloned());
    conditions
        .map(|condition| NodeCondition { last_heartbeat_time: None, message: None, ..condition })
        .collect()
}

/// Returns the MachineHealthChecks of a Cluster that appeared or was deleted, or of which something changed that the rules depend on.
fn of_cluster(checks: &Objects<MachineHealthCheck>, change: &Change<Cluster>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| {
        let since = |type_: &str| {
            let condition = cluster.condition(type_)?;
            Some((condition.status.clone(), condition.last_transition_time.clone()))
        };
        (cluster.spec.paused, since("ControlPlaneInitialized"), since("InfrastructureReady"))
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    requests_of(&checks.by_index(BY_CLUSTER_NAME, &change.name().to_string()))
}

/// Returns the MachineHealthChecks that select a Machine, or did before the change.
fn of_machine(checks: &Objects<MachineHealthCheck>, change: &Change<Machine>) -> Vec<Request> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) if is_same(old, new) => Vec::new(),
        _ => change.objects().flat_map(|machine| selecting(checks, machine)).collect(),
    }
}

/// Returns whether nothing of a Machine changed that the rules depend on.
fn is_same(old: &Machine, new: &Machine) -> bool {
    old.conditions() == new.conditions()
        && old.metadata.labels == new.metadata.labels
        && old.metadata.annotations == new.metadata.annotations
        && is_deleting(old) == is_deleting(new)
        && machine::node_name(old) == machine::node_name(new)
}

/// Returns the MachineHealthChecks of the Machine that owns an object which asks for its remediation.
fn of_request(
    checks: &Objects<MachineHealthCheck>,
    machines: &Objects<Machine>,
    change: &Change<DynamicObject>,
) -> Vec<Request> {
    let owner =
        change.objects().find_map(|request| owners::find(request.as_ref(), Machine::GROUP, Machine::KIND));
    let machine = owner
        .and_then(|owner| machines.get(&NamespacedName::new(change.name().namespace, owner.name.as_str())));
    machine.map(|machine| selecting(checks, &machine)).unwrap_or_default()
}

fn selecting(checks: &Objects<MachineHealthCheck>, machine: &Machine) -> Vec<Request> {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let cluster = NamespacedName::new(namespace, machine.spec.cluster_name.as_str());
    let mut checks = checks.by_index(BY_CLUSTER_NAME, &cluster.to_string());
    checks.retain(|check| selector::matches(&check.spec.selector, machine.metadata.labels.as_ref()));
    requests_of(&checks)
}

impl Planned for HealthCheckController {
    type Object = MachineHealthCheck;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = None;
    const OWNED: &'static [&'static str] = OWNED;

    fn objects(&self) -> &Objects<MachineHealthCheck> {
        &self.checks
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, check: &Arc<MachineHealthCheck>) -> Membership {
        match cluster_of(&self.clusters, check.as_ref(), &check.spec.cluster_name) {
            // It may be older than its Cluster, whose creation triggers its reconcile, and goes after it: the garbage collector deletes it.
            Membership::Missing(_) => Membership::Waits,
            membership => membership,
        }
    }

    async fn observe(
        &self,
        check: Arc<MachineHealthCheck>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster.filter(|_| !is_deleting(check.as_ref())) else { return Ok(None) };
        Ok(Some(self.read(check, cluster).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<MachineHealthCheck> {
        self.execute(observed, plan).await
    }

    fn observed_generation(check: &mut MachineHealthCheck) -> Option<&mut Option<i64>> {
        Some(&mut check.status.get_or_insert_default().observed_generation)
    }
}
