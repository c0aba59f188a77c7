//! The steps that write an object of the management cluster, each kind of write as a type of its own.

use std::any::Any;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde_json::Value;

use super::Named;
use super::perform::Tools;
use crate::clusters::Workload;
use crate::error::Result;
use crate::external::ExternalObject;
use crate::object::{self, Kind, NamespacedName};
use crate::propagated::Removed;

/// An object as it was read, of a kind that is known when the program is compiled, or of a provider's.
pub trait Stored: Clone {
    /// The type of the object.
    type Kind: Kind + PartialEq;

    /// Returns the object and its kind.
    fn split(self) -> (Arc<Self::Kind>, <Self::Kind as Resource>::DynamicType);
}

impl<K: Kind<DynamicType = ()> + PartialEq> Stored for Arc<K> {
    type Kind = K;

    fn split(self) -> (Arc<K>, ()) {
        (self, ())
    }
}

impl Stored for ExternalObject {
    type Kind = DynamicObject;

    fn split(self) -> (Arc<DynamicObject>, ApiResource) {
        (self.object, self.resource)
    }
}

/// The workload cluster of a step; `None` for the management cluster.
type Place<'a> = Option<&'a Workload>;

/// A write, whatever the type of its object.
pub(super) trait Write: Named + Any {
    /// Performs the write; returns whether it changed something.
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>>;
}

fn name<K: Kind>(kind: &K::DynamicType, object: &K) -> String {
    format!("{} {}", K::kind(kind), NamespacedName::of(object))
}

/// A server-side apply.
pub struct Apply<K: Kind> {
    /// The object as it was read; `None` if there is none yet.
    pub read: Option<Arc<K>>,
    /// What is applied.
    pub wanted: K,
    pub(super) manager: &'static str,
    pub(super) kind: K::DynamicType,
}

impl<K: Kind> Named for Apply<K> {
    fn verb(&self) -> &'static str {
        "apply"
    }

    fn target(&self) -> String {
        name(&self.kind, &self.wanted)
    }
}

impl<K: Kind> Write for Apply<K> {
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>> {
        let Self { manager, read, wanted, kind } = self;
        let objects = tools.objects::<K>(workload, kind);
        let apply = async move {
            let stored = tools.known()?.apply(&objects, manager, read.as_ref(), wanted).await?;
            Ok(read.as_ref().is_none_or(|read| !Arc::ptr_eq(read, &stored)))
        };
        apply.boxed()
    }
}

/// A patch with the difference between two states.
pub struct Patch<K: Kind> {
    /// The object as it was read.
    pub read: Arc<K>,
    /// The wanted object.
    pub wanted: K,
    pub(super) owned: &'static [&'static str],
    pub(super) only_unchanged: bool,
    pub(super) kind: K::DynamicType,
}

impl<K: Kind> Named for Patch<K> {
    fn verb(&self) -> &'static str {
        "patch"
    }

    fn target(&self) -> String {
        name(&self.kind, self.read.as_ref())
    }
}

impl<K: Kind + PartialEq> Write for Patch<K> {
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>> {
        let Self { read, wanted, owned, only_unchanged, kind } = self;
        let objects = tools.objects::<K>(workload, kind);
        let patch = async move {
            let stored = match only_unchanged {
                true => objects.patch_unchanged(read, wanted).await?,
                false => objects.patch(read, wanted, owned).await?,
            };
            Ok(!Arc::ptr_eq(read, &stored))
        };
        patch.boxed()
    }
}

/// A merge patch.
pub struct Merge<K: Kind> {
    /// The object as it was read.
    pub read: Arc<K>,
    /// The patch.
    pub patch: Value,
    pub(super) kind: K::DynamicType,
}

impl<K: Kind> Named for Merge<K> {
    fn verb(&self) -> &'static str {
        "merge"
    }

    fn target(&self) -> String {
        name(&self.kind, self.read.as_ref())
    }
}

impl<K: Kind> Write for Merge<K> {
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>> {
        let (objects, key) =
            (tools.objects::<K>(workload, &self.kind), NamespacedName::of(self.read.as_ref()));
        async move { objects.merge(&key, None, self.patch.clone()).await.map(|_| true) }.boxed()
    }
}

/// The removal of labels and annotations that a template no longer has.
pub struct RemoveMetadata<K: Kind> {
    /// The object as it was read.
    pub read: Arc<K>,
    /// What is removed.
    pub removed: Removed,
    pub(super) managers: &'static [&'static str],
    pub(super) kind: K::DynamicType,
}

impl<K: Kind> Named for RemoveMetadata<K> {
    fn verb(&self) -> &'static str {
        "remove_metadata"
    }

    fn target(&self) -> String {
        name(&self.kind, self.read.as_ref())
    }
}

impl<K: Kind> Write for RemoveMetadata<K> {
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>> {
        let Self { read, removed, managers, kind } = self;
        let objects = tools.objects::<K>(workload, kind);
        let remove =
            async move { removed.remove(&objects, tools.known()?, managers, read).await.map(|()| true) };
        remove.boxed()
    }
}

/// A deletion, unless somebody has made another object of the same name.
pub struct Delete<K: Kind> {
    /// The object as it was read.
    pub read: Arc<K>,
    pub(super) kind: K::DynamicType,
}

impl<K: Kind> Named for Delete<K> {
    fn verb(&self) -> &'static str {
        "delete"
    }

    fn target(&self) -> String {
        name(&self.kind, self.read.as_ref())
    }
}

impl<K: Kind> Write for Delete<K> {
    fn perform<'a>(&'a self, tools: &'a Tools<'a>, workload: Place<'a>) -> BoxFuture<'a, Result<bool>> {
        let objects = tools.objects::<K>(workload, &self.kind);
        let delete = async move {
            objects.delete(self.read.as_ref()).await?;
            if let Ok(applied) = tools.known() {
                applied.forget(object::uid(self.read.as_ref()));
            }
            Ok(true)
        };
        delete.boxed()
    }
}
