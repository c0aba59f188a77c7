//! Building blocks of the plans of all controllers.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{Action, Error, External, ExternalObject, Kind, NamespacedName, Objects, Request};
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::meta::ContractVersionedObjectReference;

/// An event to record about the reconciled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether the event is a warning rather than a normal event.
    pub warning: bool,
    /// Reason, for example `InfrastructureReady`.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
}

impl Event {
    /// Creates a normal event.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: false, reason, message: message.into() }
    }

    /// Creates a warning event.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, reason, message: message.into() }
    }
}

/// A provider's object together with its wanted state.
#[derive(Debug, Clone)]
pub struct ExternalChange {
    /// The object as it was read.
    pub read: ExternalObject,
    /// The wanted object.
    pub wanted: DynamicObject,
}

/// The result of resolving a reference to a provider's object.
#[derive(Debug, Clone)]
pub enum Reference {
    /// There is no reference.
    None,
    /// The referenced object.
    Found(ExternalObject),
    /// The referenced object does not exist.
    NotFound,
    /// The object could not be read; holds the error message.
    Failed(String),
}

impl Reference {
    /// Resolves `reference` in namespace `namespace`.
    pub async fn read(
        external: &External,
        namespace: &str,
        reference: Option<&ContractVersionedObjectReference>,
    ) -> Self {
        match reference.filter(|reference| !reference.name.is_empty()) {
            None => Self::None,
            Some(reference) => Self::of(external.get(namespace, reference).await),
        }
    }

    /// Converts the result of a read.
    pub fn of(result: engine::Result<Option<ExternalObject>>) -> Self {
        match result {
            Ok(Some(object)) => Self::Found(object),
            Ok(None) => Self::NotFound,
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// Returns the object, or `None` if it was not found.
    pub fn found(&self) -> Option<&ExternalObject> {
        match self {
            Self::Found(object) => Some(object),
            _ => None,
        }
    }
}

/// Returns the Cluster that the reconciled object names.
///
/// # Errors
/// Fails if the Cluster does not exist.
pub fn cluster_of<K: Kind<DynamicType = ()>>(
    clusters: &Objects<Cluster>,
    request: &Request,
    name: &str,
) -> engine::Result<Arc<Cluster>> {
    let name = NamespacedName::new(request.namespace.as_str(), name);
    let missing = || Error::failed(format!("Cluster {name} of {} {request} does not exist", K::kind(&())));
    clusters.get(&name).ok_or_else(missing)
}

/// Handles an object whose Cluster does not exist. Removes its finalizer if it is being deleted, is not
/// paused, and nothing that it created is `left`; otherwise returns `missing`. Nothing is torn down without a
/// Cluster, since the cluster may have been moved to another server.
///
/// # Errors
/// Returns `missing`, which reports the absent Cluster, or the error of the write.
pub async fn without_cluster<K: Kind<DynamicType = ()> + PartialEq>(
    objects: &Objects<K>,
    object: &Arc<K>,
    finalizer: &str,
    left: bool,
    missing: Error,
) -> engine::Result<Action> {
    let is_paused = !engine::paused::causes(object.as_ref(), None).is_empty();
    if left || is_paused || !is_deleting(object.as_ref()) {
        return Err(missing);
    }
    let mut wanted = object.as_ref().clone();
    engine::finalizer::remove(&mut wanted, finalizer);
    objects.patch(object, &wanted, &[]).await?;
    Ok(Action::done())
}

/// Sets the `Paused` condition, and writes the object if it is paused. Returns whether it is paused.
///
/// # Errors
/// Returns the error of the write.
pub async fn is_paused<K: Kind<DynamicType = ()> + HasConditions + PartialEq>(
    objects: &Objects<K>,
    object: &Arc<K>,
    cluster: &Cluster,
    (owned, now): (&[&str], DateTime<Utc>),
) -> engine::Result<bool> {
    let mut wanted = object.as_ref().clone();
    if !engine::paused::set(&mut wanted, Some(cluster), now) {
        return Ok(false);
    }
    objects.patch(object, &wanted, owned).await?;
    Ok(true)
}

/// Patches providers' objects to their wanted state; returns all errors.
pub async fn apply_external(external: &External, changes: &[ExternalChange]) -> Vec<Error> {
    let mut errors = Vec::new();
    for change in changes {
        let objects = external.handle(&change.read);
        errors.extend(objects.patch(&change.read.object, &change.wanted, &[]).await.err());
    }
    errors
}

/// Writes the reconciled object back after the steps that returned `errors`, and returns all errors. With an
/// error, `status.observedGeneration` keeps its value; `observed_generation` returns that field.
pub async fn write_back<K: Kind + PartialEq>(
    objects: &Objects<K>,
    read: &Arc<K>,
    mut wanted: K,
    owned: &[&str],
    mut errors: Vec<Error>,
    observed_generation: impl Fn(&mut K) -> &mut Option<i64>,
) -> Vec<Error> {
    if !errors.is_empty() {
        let before = *observed_generation(&mut read.as_ref().clone());
        *observed_generation(&mut wanted) = before;
    }
    match objects.patch(read, &wanted, owned).await {
        // The patch removed the finalizer, so the object is gone.
        Err(error) if error.is_not_found() && is_deleting(&wanted) => {}
        result => errors.extend(result.err()),
    }
    errors
}

/// Returns the result of a reconcile: the errors of its steps, or else `action`.
pub fn finish(errors: Vec<Error>, action: Action) -> engine::Result<Action> {
    Error::aggregate(errors).map(|()| action)
}
