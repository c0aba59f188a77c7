//! Parsers of objects, compiled only once.
//!
//! `serde_json` is generic: each crate that calls `from_slice::<Pod>` contains its own copy of the parser of a Pod. These parsers are
//! megabytes of machine code. Therefore all crates call [`FromJson::from_json`].

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::core::{DynamicObject, PartialObjectMeta};

/// An object that can be parsed.
pub trait FromJson: Sized {
    /// Parses the JSON text of an object.
    ///
    /// # Errors
    /// The text is not JSON, or it is not an object of this type.
    fn from_json(text: &[u8]) -> serde_json::Result<Self>;
}

/// Implements [`FromJson`] for these types.
macro_rules! from_json {
    ($($kind:ty),* $(,)?) => {
        $(
            impl FromJson for $kind {
                fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                    machinery::decode::own(text)
                }
            }
        )*
    };
}

from_json!(
    ConfigMap,
    DaemonSet,
    Deployment,
    DynamicObject,
    EndpointSlice,
    Lease,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Secret,
    Service,
    StorageClass,
);

impl<K> FromJson for PartialObjectMeta<K> {
    fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        machinery::decode::own(text)
    }
}
