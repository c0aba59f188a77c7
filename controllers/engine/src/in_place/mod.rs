//! Updates of machines in place: the marks that controllers leave for each other, and the interface to whoever changes the machines.
//!
//! The owner of a Machine decides with [`Updater::can_update`], marks the Machine and its objects, and writes
//! their new spec. Then the Machine controller calls [`Updater::update_machine`] until it is done, and removes the marks
//! (`contract/controllers.md`, §2 to §5).

mod decisions;
mod difference;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::cluster::Cluster;
use serde_json::Value;

use crate::error::Result;
use crate::external::ExternalObject;
use crate::object::{Kind, annotation};

pub use decisions::Decisions;
pub use difference::{SPEC, TEMPLATE_SPEC, decide};

/// Annotation on a Machine and its objects: it is updated in place.
pub const UPDATE_IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
/// Annotation on Machines that a MachineSet has got from another one, and that its MachineDeployment has not counted yet.
pub const PENDING_ACKNOWLEDGE_MOVE: &str =
    "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move";
/// Annotation on a MachineSet: the names of the Machines that it has got and that its MachineDeployment has counted.
pub const ACKNOWLEDGED_MOVE: &str = "in-place-updates.internal.cluster.x-k8s.io/acknowledged-move";
/// Annotation on a MachineSet: the MachineSet that gets its Machines when it is scaled down.
pub const MOVE_MACHINES_TO: &str = "in-place-updates.internal.cluster.x-k8s.io/move-machines-to-machineset";
/// Annotation on a MachineSet: the MachineSets whose Machines it gets.
pub const RECEIVE_MACHINES_FROM: &str =
    "in-place-updates.internal.cluster.x-k8s.io/receive-machines-from-machinesets";
/// Annotation with the names of hooks that are still to be called.
pub const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The hook that changes a machine, as in [`PENDING_HOOKS`].
pub const UPDATE_MACHINE: &str = "UpdateMachine";
/// The reason of the event about a Machine whose update has been started.
pub const STARTED: &str = "SuccessfulStartInPlaceUpdate";
/// The message of the same event.
pub const STARTED_MESSAGE: &str = "Machine starting in-place update";

/// Returns whether an object is marked as being updated.
pub fn is_marked<K: Resource>(object: &K) -> bool {
    annotation(object, UPDATE_IN_PROGRESS).is_some()
}

/// Returns whether the update of a Machine is still to be made.
pub fn is_hook_pending<K: Resource>(object: &K) -> bool {
    names(annotation(object, PENDING_HOOKS)).any(|hook| hook == UPDATE_MACHINE)
}

/// Returns whether a Machine is being updated: also while the update begins or ends, when there is only one of both marks.
pub fn is_in_progress<K: Resource>(object: &K) -> bool {
    is_marked(object) || is_hook_pending(object)
}

/// Returns the names in the comma-separated value of an annotation.
pub fn names(value: Option<&str>) -> impl Iterator<Item = &str> {
    value.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Returns the value of [`PENDING_HOOKS`] with the update of the machine.
pub fn with_hook<K: Resource>(object: &K) -> String {
    let others = names(annotation(object, PENDING_HOOKS)).filter(|hook| *hook != UPDATE_MACHINE);
    others.chain([UPDATE_MACHINE]).collect::<Vec<_>>().join(",")
}

/// Removes the update of the machine from [`PENDING_HOOKS`].
pub fn remove_hook<K: Resource>(object: &mut K) {
    let left: Vec<String> = names(annotation(object, PENDING_HOOKS))
        .filter(|hook| *hook != UPDATE_MACHINE)
        .map(str::to_owned)
        .collect();
    let Some(annotations) = &mut object.meta_mut().annotations else { return };
    if left.is_empty() {
        annotations.remove(PENDING_HOOKS);
    } else {
        annotations.insert(PENDING_HOOKS.to_owned(), left.join(","));
    }
}

/// A Machine or MachineSet with its objects or templates, each with `apiVersion` and `kind`.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// The Machine or MachineSet.
    pub machine: Value,
    /// The infrastructure machine, or the template for it; `None` if it does not exist.
    pub infrastructure: Option<Value>,
    /// The bootstrap configuration, or the template for it; `None` if there is no reference to one.
    pub bootstrap: Option<Value>,
}

/// Returns an object as JSON with `apiVersion` and `kind`, and without status.
pub fn value<K: Kind<DynamicType = ()>>(object: &K) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = K::api_version(&()).into();
    value["kind"] = K::kind(&()).into();
    if let Value::Object(fields) = &mut value {
        fields.remove("status");
    }
    value
}

/// Like [`value`], for an object of a provider.
pub fn external_value(object: &ExternalObject) -> Value {
    dynamic_value(&object.object, &object.resource)
}

/// Like [`value`], for an object of a kind that is known only at run time.
pub fn dynamic_value(object: &DynamicObject, resource: &ApiResource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    if let Value::Object(fields) = &mut value {
        fields.remove("status");
    }
    value
}

/// What is to be updated in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One Machine, with its objects (hook `CanUpdateMachine`).
    Machine,
    /// All Machines of a MachineSet, by its templates (hook `CanUpdateMachineSet`).
    MachineSet,
}

/// Whether new machines are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// All changes can be made in place.
    InPlace,
    /// Machines are replaced. Says which fields are the reason, without their values.
    Rollout(Vec<String>),
}

/// How far the update of a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The machine is as it should be.
    Done,
    /// The update goes on.
    Waits {
        /// What is done; may be empty.
        message: String,
        /// When to ask again; not 0.
        retry_after: Duration,
    },
}

/// Whoever changes machines in place. Each call may be repeated at any time.
pub trait Updater: Send + Sync + 'static {
    /// Returns whether anybody updates machines of this Cluster. If not, nothing else need be asked.
    fn is_present<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, Result<bool>>;

    /// Decides whether the machines of `subject` can get from the current to the desired state.
    fn can_update<'a>(
        &'a self,
        subject: Subject,
        cluster: &'a Cluster,
        current: &'a Objects,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Decision>>;

    /// Brings a machine to the desired state, or goes on with it (hook `UpdateMachine`).
    fn update_machine<'a>(
        &'a self,
        cluster: &'a Cluster,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Progress>>;
}

/// Whoever changes machines, as controllers share it.
pub type SharedUpdater = Arc<dyn Updater>;

/// Nobody updates machines: all changes need new ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpdater;

/// The decision if nobody updates machines in place.
pub fn nobody() -> Decision {
    Decision::Rollout(vec!["nothing updates machines in place here".to_owned()])
}

impl Updater for NoUpdater {
    fn is_present<'a>(&'a self, _: &'a Cluster) -> BoxFuture<'a, Result<bool>> {
        async { Ok(false) }.boxed()
    }

    fn can_update<'a>(
        &'a self,
        _: Subject,
        _: &'a Cluster,
        _: &'a Objects,
        _: &'a Objects,
    ) -> BoxFuture<'a, Result<Decision>> {
        async { Ok(nobody()) }.boxed()
    }

    fn update_machine<'a>(&'a self, _: &'a Cluster, _: &'a Objects) -> BoxFuture<'a, Result<Progress>> {
        async { Err(crate::Error::failed("no extension is registered for the hook UpdateMachine")) }.boxed()
    }
}
