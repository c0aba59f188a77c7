//! The MachineSet controller.

mod create;
mod plan;
mod preflight;
mod priority;
mod status;
mod sync;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::external::{change_key, reference_key};
use engine::names::{CLUSTER_NAME, SET_NAME};
use engine::object::{is_deleting, label, uid};
use engine::{
    Action, Applied, Change, Controller, Descriptor, Error, External, GroupKind, ExternalObject, Manager, NamespacedName, Objects,
    Reconciler, Request, Result, owners,
};
use kube::api::DynamicObject;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

pub use plan::{Plan, plan};

use crate::change::{
    Event, Reference, apply_external, cluster_of, finish, is_paused, without_cluster, write_back,
};
use crate::selector;

/// The finalizer.
pub const FINALIZER: &str = "cluster.x-k8s.io/machineset";
const FIELD_MANAGER: &str = "capi-machineset";
const METADATA_FIELD_MANAGER: &str = "capi-machineset-metadata";
const OWNED: &[&str] =
    &["Remediating", "ScalingDown", "ScalingUp", "MachinesReady", "MachinesUpToDate", "Paused", "Deleting"];
const CONCURRENCY: usize = 50;
const BY_REFERENCE: &str = "reference";
const BY_ORPHAN: &str = "orphan";

/// Everything that a plan for a MachineSet depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The MachineSet.
    pub set: Arc<MachineSet>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Its Machines, and those without an owner that its selector matches.
    pub machines: Vec<Arc<Machine>>,
    /// The bootstrap template.
    pub bootstrap: Reference,
    /// The infrastructure template.
    pub infrastructure: Reference,
    /// The Cluster's control plane object.
    pub control_plane: Reference,
    /// Bootstrap and infrastructure objects of its Machines, and those that no Machine took over.
    pub parts: Vec<ExternalObject>,
    /// Ends of the names of new Machines, as many as may be needed.
    pub suffixes: Vec<String>,
    /// Now.
    pub now: DateTime<Utc>,
}

struct Controls {
    manager: Manager,
    clusters: Objects<Cluster>,
    sets: Objects<MachineSet>,
    machines: Objects<Machine>,
    external: External,
    applied: Applied,
    recorder: engine::events::Recorder,
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "machineset",
    reconciles: &[GroupKind::new(MachineSet::GROUP, MachineSet::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
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
    let clusters = manager.objects::<Cluster>();
    let (of_cluster, orphans) = (sets.clone(), sets.clone());
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&sets)
        .owns(&machines, MachineSet::GROUP, MachineSet::KIND)
        .watches(&machines, move |change| selected_by(change, &orphans))
        .watches(&clusters, move |change| {
            let facts =
                |cluster: &Arc<Cluster>| (cluster.spec.paused, cluster.spec.control_plane_ref.clone());
            if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
                return Vec::new();
            }
            names(&of_cluster.by_cluster(&change.name()))
        });
    let queue = controller.queue();
    let referring = sets.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let key = change_key(resource, change);
        let is_template = resource.kind.ends_with("Template");
        if is_template && change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        if is_template {
            names(&referring.by_index(BY_REFERENCE, &key))
        } else {
            of_external(&referring, change)
        }
    });
    let recorder = manager.recorder("machineset-controller");
    let (manager, applied) = (manager.clone(), Applied::default());
    controller.start(Controls { manager, clusters, sets, machines, external, applied, recorder });
}

fn names(sets: &[Arc<MachineSet>]) -> Vec<Request> {
    sets.iter().map(|set| NamespacedName::of(set.as_ref())).collect()
}

/// The MachineSets that a change of a control plane object, or of an object that a MachineSet made, concerns.
fn of_external(sets: &Objects<MachineSet>, change: &Change<DynamicObject>) -> Vec<Request> {
    let mut requests = engine::controller::owner_requests(change, MachineSet::GROUP, MachineSet::KIND);
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
            requests.extend(names(&sets.by_cluster(&NamespacedName::new(namespace.as_str(), cluster))));
        }
    }
    requests
}

/// MachineSets whose selector matches a Machine that nobody controls.
fn selected_by(change: &Change<Machine>, sets: &Objects<MachineSet>) -> Vec<Request> {
    let Some(machine) = change.new.as_ref().filter(|machine| owners::controller(machine.as_ref()).is_none())
    else {
        return Vec::new();
    };
    let mut list = sets.in_namespace(machine.metadata.namespace.as_deref().unwrap_or_default());
    list.retain(|set| selector::matches(&set.spec.selector, machine.metadata.labels.as_ref()));
    names(&list)
}

impl Reconciler for Controls {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(set) = self.sets.get(&request) else { return Ok(Action::done()) };
        let cluster = match cluster_of::<MachineSet>(&self.clusters, &request, &set.spec.cluster_name) {
            Ok(cluster) => cluster,
            Err(missing) => {
                let left = !self.machines.by_owner(uid(set.as_ref())).is_empty();
                return without_cluster(&self.sets, &set, FINALIZER, left, missing).await;
            }
        };
        let set = engine::finalizer::ensure(&self.sets, &set, FINALIZER).await?;
        let now = self.manager.clock().now();
        if is_paused(&self.sets, &set, &cluster, (OWNED, now)).await? {
            return Ok(Action::done());
        }
        let observed = self.gather(set, cluster).await;
        let plan = plan(&observed);
        self.apply(&observed, plan).await
    }
}

impl Controls {
    async fn gather(&self, set: Arc<MachineSet>, cluster: Arc<Cluster>) -> Observed {
        let namespace = set.metadata.namespace.clone().unwrap_or_default();
        let spec = &set.spec.template.spec;
        let bootstrap = Reference::read(&self.external, &namespace, spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&spec.infrastructure_ref)).await;
        let control_plane =
            Reference::read(&self.external, &namespace, cluster.spec.control_plane_ref.as_ref()).await;
        let mut machines = self.machines.by_owner(uid(set.as_ref()));
        machines.retain(|machine| owners::is_controlled_by(machine.as_ref(), uid(set.as_ref())));
        if !is_deleting(set.as_ref()) {
            let mut orphans = self.machines.by_index(BY_ORPHAN, &namespace);
            orphans.retain(|machine| {
                !is_deleting(machine.as_ref())
                    && selector::matches(&set.spec.selector, machine.metadata.labels.as_ref())
            });
            machines.extend(orphans);
        }
        let wanted = usize::try_from(set.spec.replicas.unwrap_or(0)).unwrap_or(0);
        let missing = wanted.saturating_sub(machines.len());
        let suffixes = (0..missing).map(|_| self.manager.random().name_suffix()).collect();
        let parts = self.parts(&set, &machines).await;
        let now = self.manager.clock().now();
        Observed { set, cluster, machines, bootstrap, infrastructure, control_plane, parts, suffixes, now }
    }

    /// The bootstrap and infrastructure objects of the Machines, and those that the MachineSet still owns itself.
    async fn parts(&self, set: &MachineSet, machines: &[Arc<Machine>]) -> Vec<ExternalObject> {
        let spec = &set.spec.template.spec;
        let mut parts = Vec::new();
        for reference in
            [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)].into_iter().flatten()
        {
            let Some(kind) = reference.kind.strip_suffix("Template") else { continue };
            let Ok((objects, resolved)) = self.external.objects(&reference.api_group, kind).await else {
                continue;
            };
            let mut found = objects.by_owner(uid(set));
            for machine in machines {
                found.extend(objects.by_owner(uid(machine.as_ref())));
            }
            let (resource, contract) = (resolved.resource, resolved.contract);
            parts.extend(found.into_iter().map(|object| ExternalObject {
                object,
                resource: resource.clone(),
                contract,
            }));
        }
        parts
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Result<Action> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for (current, wanted) in &plan.sync {
            let result =
                self.machines.apply_changed(&self.applied, FIELD_MANAGER, Some(current), wanted).await;
            errors.extend(result.err());
        }
        for (current, wanted) in &plan.update {
            match self.machines.patch(current, wanted, &[]).await {
                // It is being deleted, and is gone now.
                Err(error) if error.is_not_found() => {}
                result => errors.extend(result.err()),
            }
        }
        for (part, wanted) in &plan.sync_parts {
            let objects = self.external.handle(part);
            let current = Some(&part.object);
            let result = objects.apply_changed(&self.applied, METADATA_FIELD_MANAGER, current, wanted).await;
            errors.extend(result.err());
        }
        for part in &plan.delete_parts {
            errors.extend(self.external.handle(part).delete(part.object.as_ref()).await.err());
        }
        for machine in &plan.delete {
            let name = machine.metadata.name.clone().unwrap_or_default();
            match self.machines.delete(machine.as_ref()).await {
                Ok(()) => self.event(
                    observed,
                    &Event::normal("SuccessfulDelete", format!("Deleted Machine \"{name}\"")),
                ),
                Err(error) => errors.push(error),
            }
        }
        for wanted in &plan.create {
            match self.create(observed, wanted).await {
                Ok(name) => {
                    self.event(
                        observed,
                        &Event::normal("SuccessfulCreate", format!("Created Machine \"{name}\"")),
                    );
                }
                Err(error) => errors.push(error),
            }
        }
        let errors = write_back(&self.sets, &observed.set, plan.set, OWNED, errors, |set| {
            &mut set.status.get_or_insert_default().observed_generation
        })
        .await;
        finish(errors, plan.action)
    }

    fn event(&self, observed: &Observed, event: &Event) {
        self.recorder.normal(observed.set.as_ref(), &(), event.reason, event.message.clone());
    }
}

/// The label of Machines with their MachineSet's name.
fn set_name_label(set: &MachineSet) -> (String, String) {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    (SET_NAME.to_owned(), schemas::naming::label_value(name))
}

/// Whether a MachineDeployment controls the MachineSet.
fn is_of_deployment(set: &MachineSet) -> bool {
    owners::controller(set).is_some_and(|owner| owner.kind == MachineDeployment::KIND)
}
