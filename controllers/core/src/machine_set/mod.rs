//! The MachineSet controller.

mod create;
mod facts;
mod moving;
mod observe;
mod observed;
mod plan;
mod preflight;
pub mod priority;
mod remediation;
pub mod start_update;
mod status;
mod sync;
mod v1beta1;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::{change_key, reference_key};
use engine::in_place::SharedUpdater;
use engine::names::CLUSTER_NAME;
use engine::object::{annotation, label, uid};
use engine::steps::perform;
use engine::{
    Applied, Change, Controller, Descriptor, Error, External, Frame, GroupKind, Manager, Membership,
    NamespacedName, Objects, Outcome, Planned, Request, Result, owners,
};
use kube::api::DynamicObject;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

pub use observed::Observed;
pub use plan::{FINALIZER, Plan, plan};

use crate::change::{cluster_of, report};
use crate::machine_deployment::REVISION;
use engine::selector;
use observe::{BY_ORPHAN, MachineSetController};
use preflight::{SKIP, UPGRADE_STEP};

const OWNED: &[&str] =
    &["Remediating", "ScalingDown", "ScalingUp", "MachinesReady", "MachinesUpToDate", "Paused", "Deleting"];
const CONCURRENCY: usize = 50;
const BY_REFERENCE: &str = "reference";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "machineset",
    reconciles: &[GroupKind::new(MachineSet::GROUP, MachineSet::KIND)],
    start: |manager, _| start(manager),
};

/// Starts the MachineSet controller.
fn start(manager: &Manager) {
    let sets = manager.objects::<MachineSet>();
    sets.index(BY_REFERENCE, |set| {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let spec = &set.spec.template.spec;
        let references = [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    let machines = manager.objects::<Machine>();
    machines.index(BY_ORPHAN, |machine| {
        let is_orphan = owners::controller(machine).is_none();
        is_orphan.then(|| machine.metadata.namespace.clone().unwrap_or_default()).into_iter().collect()
    });
    let (clusters, deployments) = (manager.objects::<Cluster>(), manager.objects::<MachineDeployment>());
    let (of_cluster, orphans, children) = (sets.clone(), sets.clone(), sets.clone());
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&sets)
        .owns(&machines, MachineSet::GROUP, MachineSet::KIND)
        .watches(&machines, move |change| selected_by(change, &orphans))
        .watches(&deployments, move |change| of_deployment(change, &children))
        .watches(&clusters, move |change| of_cluster_change(change, &of_cluster));
    let queue = controller.queue();
    let referring = sets.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let key = change_key(resource, change);
        let is_template = resource.kind.ends_with("Template");
        let skipped = |object: &Arc<DynamicObject>| annotation(object.as_ref(), SKIP).map(str::to_owned);
        if is_template && change.old.as_ref().map(skipped) == change.new.as_ref().map(skipped) {
            return Vec::new();
        }
        if is_template {
            requests_of(&referring.by_index(BY_REFERENCE, &key))
        } else {
            of_external(&referring, change)
        }
    });
    let recorder = manager.recorder("machineset-controller");
    let (manager, applied) = (manager.clone(), Applied::default());
    controller.start(Frame::new(MachineSetController {
        manager,
        clusters,
        deployments,
        sets,
        machines,
        external,
        applied,
        recorder,
    }));
}

/// Returns the MachineSets of a Cluster of which something changed that pauses them, or that lets them create Machines.
fn of_cluster_change(change: &Change<Cluster>, sets: &Objects<MachineSet>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| {
        let spec = &cluster.spec;
        let version = spec.topology.as_ref().map(|topology| topology.version.clone());
        let step = annotation(cluster.as_ref(), UPGRADE_STEP).map(str::to_owned);
        (spec.paused, spec.control_plane_ref.clone(), version, step)
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    requests_of(&sets.by_cluster(&change.name()))
}

/// Returns the MachineSets affected by a change of a control plane object. The objects that a MachineSet creates for its Machines do not
/// count: a creation that fails would cause the next one at once.
fn of_external(sets: &Objects<MachineSet>, change: &Change<DynamicObject>) -> Vec<Request> {
    let mut requests = Vec::new();
    let versions = |object: &Arc<DynamicObject>| {
        let get = |pointer: &str| object.data.pointer(pointer).cloned();
        [get("/spec/version"), get("/status/version"), get("/status/versions")]
    };
    let is_control_plane = |object: &Arc<DynamicObject>| versions(object).iter().any(Option::is_some);
    let changed = change.old.as_ref().map(versions) != change.new.as_ref().map(versions);
    if changed && change.objects().any(is_control_plane) {
        let namespace = change.name().namespace;
        let clusters =
            change.objects().filter_map(|object| label(object.as_ref(), CLUSTER_NAME).map(str::to_owned));
        for cluster in clusters.collect::<std::collections::BTreeSet<_>>() {
            requests.extend(requests_of(&sets.by_cluster(&NamespacedName::new(namespace.as_str(), cluster))));
        }
    }
    requests
}

/// Returns the MachineSets of a MachineDeployment of which something changed that limits their remediation.
fn of_deployment(change: &Change<MachineDeployment>, sets: &Objects<MachineSet>) -> Vec<Request> {
    let facts = |deployment: &Arc<MachineDeployment>| {
        let revision = annotation(deployment.as_ref(), REVISION).map(str::to_owned);
        (revision, deployment.spec.remediation.clone(), deployment.spec.replicas)
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    change.objects().flat_map(|deployment| requests_of(&sets.by_owner(uid(deployment.as_ref())))).collect()
}

/// Returns the MachineSets whose selector matches a Machine without a controller.
fn selected_by(change: &Change<Machine>, sets: &Objects<MachineSet>) -> Vec<Request> {
    let Some(machine) = change.new.as_ref().filter(|machine| owners::controller(machine.as_ref()).is_none())
    else {
        return Vec::new();
    };
    let mut list = sets.in_namespace(machine.metadata.namespace.as_deref().unwrap_or_default());
    list.retain(|set| selector::matches(&set.spec.selector, machine.metadata.labels.as_ref()));
    requests_of(&list)
}

impl Planned for MachineSetController {
    type Object = MachineSet;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<MachineSet> {
        &self.sets
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, set: &Arc<MachineSet>) -> Membership {
        cluster_of(&self.clusters, set.as_ref(), &set.spec.cluster_name)
    }

    async fn has_parts(&self, set: &Arc<MachineSet>) -> bool {
        !self.machines.by_owner(uid(set.as_ref())).is_empty()
    }

    async fn observe(&self, set: Arc<MachineSet>, cluster: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        Ok(Some(self.read(set, cluster).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<MachineSet> {
        perform(self, observed, plan).await
    }

    fn report(set: &mut MachineSet, errors: &[&Error], _: DateTime<Utc>) {
        report(set, &["ScalingUp", "ScalingDown", "Deleting"], errors);
    }

    fn observed_generation(set: &mut MachineSet) -> Option<&mut Option<i64>> {
        Some(&mut set.status.get_or_insert_default().observed_generation)
    }
}
