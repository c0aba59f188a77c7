//! The order in which the objects of a value are created: what others need comes first.

/// Kinds in their order; all others follow. The last one is no kind of Kubernetes, whose Endpoints therefore are among the others, as
/// upstream.
const ORDER: &[&str] = &[
    "Namespace",
    "CustomResourceDefinition",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "LimitRange",
    "Pod",
    "ReplicaSet",
    "Endpoint",
];

/// Returns the position of a kind.
pub fn position(kind: &str) -> usize {
    ORDER.iter().position(|known| *known == kind).unwrap_or(ORDER.len())
}
