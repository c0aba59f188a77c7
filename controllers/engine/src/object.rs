//! The requirements on a cached kind, and the names of objects.

use std::fmt::{self, Debug, Display};

use kube::Resource;
use kube::core::ObjectMeta;
use schemas::FromJson;
use serde::Serialize;

/// A kind that can be cached: typed (`schemas`, `k8s-openapi`) or dynamic ([`kube::api::DynamicObject`]).
pub trait Kind:
    Resource<DynamicType: Clone + Send + Sync + 'static>
    + Clone
    + Debug
    + Serialize
    + FromJson
    + Send
    + Sync
    + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType: Clone + Send + Sync + 'static>
        + Clone
        + Debug
        + Serialize
        + FromJson
        + Send
        + Sync
        + 'static
{
}

/// Namespace and name of an object; the namespace is empty for cluster-scoped ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

/// A request to reconcile the object of the controller's own kind with this name.
pub type Request = NamespacedName;

impl NamespacedName {
    /// Creates a name from namespace and name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Returns the namespace and name of `object`.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::of_metadata(object.meta())
    }

    pub(crate) fn of_metadata(metadata: &ObjectMeta) -> Self {
        let name = metadata.name.as_deref().or(metadata.generate_name.as_deref());
        Self::new(metadata.namespace.as_deref().unwrap_or_default(), name.unwrap_or_default())
    }

    /// Parses `namespace/name`, the text of a name with a namespace; `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        let is_name = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        is_name.then(|| Self::new(namespace, name))
    }

    /// Returns the namespace as the client expects it: `None` for cluster-scoped objects.
    pub fn scope(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(self.namespace.as_str())
    }
}

impl Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Returns the `resourceVersion` as a number, 0 if absent. Kubernetes guarantees that the versions of one
/// resource can be compared.
pub fn version<K: Resource>(object: &K) -> u64 {
    version_of(object.meta())
}

/// Returns the `resourceVersion` of an object with this metadata, like [`version`].
pub fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns whether `object` is being deleted.
pub fn is_deleting<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// Returns the value of a label, or `None`.
pub fn label<'a, K: Resource>(object: &'a K, key: &str) -> Option<&'a str> {
    object.meta().labels.as_ref()?.get(key).map(String::as_str)
}

/// Returns the value of an annotation, or `None`.
pub fn annotation<'a, K: Resource>(object: &'a K, key: &str) -> Option<&'a str> {
    object.meta().annotations.as_ref()?.get(key).map(String::as_str)
}

/// Returns the UID, empty for an object that was never stored.
pub fn uid<K: Resource>(object: &K) -> &str {
    uid_of(object.meta())
}

pub(crate) fn uid_of(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}
