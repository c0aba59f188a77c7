//! What the stand-ins of other providers do next, from the objects alone. Pure.

use engine::names::CONTROL_PLANE;
use machinery::meta::{is_deleting, namespace};
use std::time::Duration;

use serde_json::Value;

use super::pools::{self, Versions};
use crate::plan::object::{Reference, is_foreign, label};
use crate::plan::view::View;
use crate::tree::conditions::{is_paused, is_provisioned};

/// How long what is not simulated takes to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durations {
    /// A worker: from its bootstrap data to its Node.
    pub machine: Duration,
    /// A machine of a control plane, or a control plane without Machines.
    pub control_plane: Duration,
    /// The infrastructure that the machines of a cluster share.
    pub infrastructure: Duration,
}

/// What a provider would do with an object of its.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The infrastructure of a cluster is there, and its endpoint is known.
    ProvisionCluster,
    /// The machine runs, and has its Node.
    ProvisionMachine,
    /// The pool has more machines, fewer, or one more of the wanted version.
    FollowPool,
    /// The bootstrap data exist.
    CreateData,
    /// The control plane has the version and the replicas that its spec wants.
    FollowControlPlane,
    /// Nothing is left of the object.
    Release,
}

/// A step, and how long it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The key of the object.
    pub key: String,
    /// What the stand-in does with the object.
    pub step: Step,
    /// How long it takes.
    pub after: Duration,
}

/// Returns all steps that are due at some time from now on. `running` are the versions of the machines of pools.
pub fn wishes(view: &View, durations: &Durations, running: &Versions<'_>) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for cluster in view.of_kind("Cluster").filter(|cluster| !is_paused(cluster)) {
        let referenced = |field: &str| {
            let object = view.referenced(&cluster["spec"][field], namespace(cluster))?;
            (is_foreign(object) && !is_deleting(object)).then_some(object)
        };
        if let Some(found) = referenced("infrastructureRef").filter(|found| !is_provisioned(found)) {
            wishes.push(wish(found, Step::ProvisionCluster, durations.infrastructure));
        }
        let is_behind = |found: &&Value| has_infrastructure(cluster) && !is_as_wanted(found);
        if let Some(found) = referenced("controlPlaneRef").filter(is_behind) {
            wishes.push(wish(found, Step::FollowControlPlane, durations.control_plane));
        }
    }
    for machine in view.of_kind("Machine").filter(|machine| !is_deleting(machine)) {
        wishes.extend(of_machine(view, machine, durations));
    }
    for pool in view.of_kind("MachinePool").filter(|pool| !is_deleting(pool)) {
        wishes.extend(of_pool(view, pool, durations, running));
    }
    let finalizers =
        |object: &Value| object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
    let released = view.all().map(|(_, object)| object);
    let released = released.filter(|object| is_deleting(object) && is_foreign(object) && finalizers(object));
    wishes.extend(released.map(|object| wish(object, Step::Release, Duration::ZERO)));
    wishes
}

fn of_machine(view: &View, machine: &Value, durations: &Durations) -> Option<Wish> {
    let space = namespace(machine);
    let cluster = at_work(view, machine)?;
    let is_control_plane = label(machine, CONTROL_PLANE).is_some();
    let bootstrap = &machine["spec"]["bootstrap"];
    if !bootstrap["dataSecretName"].is_string() {
        let is_turn = is_control_plane || has_control_plane(cluster);
        return is_turn.then(|| data(view, bootstrap, space)).flatten();
    }
    let found = view.referenced(&machine["spec"]["infrastructureRef"], space)?;
    let is_due = is_foreign(found) && !is_deleting(found) && !is_provisioned(found);
    let after = if is_control_plane { durations.control_plane } else { durations.machine };
    is_due.then(|| wish(found, Step::ProvisionMachine, after))
}

fn of_pool(view: &View, pool: &Value, durations: &Durations, running: &Versions<'_>) -> Option<Wish> {
    let (space, spec) = (namespace(pool), &pool["spec"]["template"]["spec"]);
    if !has_control_plane(at_work(view, pool)?) {
        return None;
    }
    let bootstrap = &spec["bootstrap"];
    // A provider of whole pools needs no data.
    if !bootstrap["dataSecretName"].is_string() && bootstrap["configRef"].is_object() {
        return data(view, bootstrap, space);
    }
    let found = view.referenced(&spec["infrastructureRef"], space)?;
    let is_due = is_foreign(found) && !is_deleting(found) && !pools::is_as_wanted(pool, found, running);
    let after = if pools::is_shrinking(pool, found) { Duration::ZERO } else { durations.machine };
    is_due.then(|| wish(found, Step::FollowPool, after))
}

/// Returns the step that creates the bootstrap data which `bootstrap` refers to, if a stand-in does so.
fn data(view: &View, bootstrap: &Value, space: &str) -> Option<Wish> {
    let config = view.referenced(&bootstrap["configRef"], space).filter(|config| is_foreign(config))?;
    let is_due = !config["status"]["dataSecretName"].is_string() && !is_deleting(config);
    is_due.then(|| wish(config, Step::CreateData, Duration::ZERO))
}

/// Returns the Cluster of an object if its machines may start.
fn at_work<'a>(view: &'a View, object: &Value) -> Option<&'a Value> {
    let cluster = view.cluster(namespace(object), object["spec"]["clusterName"].as_str()?);
    cluster.filter(|cluster| !is_paused(cluster) && has_infrastructure(cluster))
}

fn wish(object: &Value, step: Step, after: Duration) -> Wish {
    Wish { key: Reference::of(object).key(), step, after }
}

fn has_infrastructure(cluster: &Value) -> bool {
    cluster["status"]["initialization"]["infrastructureProvisioned"] == true
}

fn has_control_plane(cluster: &Value) -> bool {
    cluster["status"]["initialization"]["controlPlaneInitialized"] == true
}

/// Returns whether a control plane says that it has what its spec wants, in one of the contract's versions.
fn is_as_wanted(control_plane: &Value) -> bool {
    let (spec, status) = (&control_plane["spec"], &control_plane["status"]);
    let initialized =
        status["initialization"]["controlPlaneInitialized"] == true || status["initialized"] == true;
    let is_same = |field: &str| spec[field].is_null() || spec[field] == status[field];
    initialized && is_same("version") && is_same("replicas")
}
