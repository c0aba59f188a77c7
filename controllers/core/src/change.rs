//! What the plans of all controllers are made of.

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
    /// A warning rather than a normal event.
    pub warning: bool,
    /// Reason, `InfrastructureReady`.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Event {
    /// Something went as it should.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: false, reason, message: message.into() }
    }

    /// Something did not go as it should.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, reason, message: message.into() }
    }
}

/// A provider's object, and how it should be.
#[derive(Debug, Clone)]
pub struct ExternalChange {
    /// As it was read.
    pub read: ExternalObject,
    /// As it should be.
    pub wanted: DynamicObject,
}

/// What became of a reference to a provider's object.
#[derive(Debug, Clone)]
pub enum Reference {
    /// There is none.
    None,
    /// The object.
    Found(ExternalObject),
    /// It names an object that does not exist.
    NotFound,
    /// It can't be read: why.
    Failed(String),
}

impl Reference {
    /// What `reference` in an object of `namespace` names.
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

    /// Of what a read returned.
    pub fn of(result: engine::Result<Option<ExternalObject>>) -> Self {
        match result {
            Ok(Some(object)) => Self::Found(object),
            Ok(None) => Self::NotFound,
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// The object.
    pub fn found(&self) -> Option<&ExternalObject> {
        match self {
            Self::Found(object) => Some(object),
            _ => None,
        }
    }
}

/// The Cluster that the reconciled object names.
///
/// # Errors
/// It does not exist.
pub fn cluster_of<K: Kind<DynamicType = ()>>(
    clusters: &Objects<Cluster>,
    request: &Request,
    name: &str,
) -> engine::Result<Arc<Cluster>> {
    let name = NamespacedName::new(request.namespace.as_str(), name);
    let missing = || Error::failed(format!("Cluster {name} of {} {request} does not exist", K::kind(&())));
    clusters.get(&name).ok_or_else(missing)
}

/// Lets an object go whose Cluster does not exist, if it is being deleted and nothing is `left` of what it made; else nothing can be done
/// about it, and the error says so. Nothing is torn down without a Cluster: it may have been handed over to another server.
///
/// # Errors
/// `missing`, which says that there is no Cluster, and those of the write.
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

/// Whether the object is paused; the condition that says so is written.
///
/// # Errors
/// Those of the write.
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

/// Makes providers' objects as they should be; returns what failed.
pub async fn apply_external(external: &External, changes: &[ExternalChange]) -> Vec<Error> {
    let mut errors = Vec::new();
    for change in changes {
        let objects = external.handle(&change.read);
        errors.extend(objects.patch(&change.read.object, &change.wanted, &[]).await.err());
    }
    errors
}

/// Writes the reconciled object back, after the `errors` of the steps before; returns all errors. With an error it has not
/// observed its generation: `observed_generation` finds that field.
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
        // The finalizer is gone, and with it the object.
        Err(error) if error.is_not_found() && is_deleting(&wanted) => {}
        result => errors.extend(result.err()),
    }
    errors
}

/// Ends a reconcile: the errors of its steps, or when to come again.
pub fn finish(errors: Vec<Error>, action: Action) -> engine::Result<Action> {
    Error::aggregate(errors).map(|()| action)
}
