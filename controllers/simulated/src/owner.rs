//! Owners of infrastructure objects.

use kube::Resource;

/// Returns the name of the object's owner of this Cluster API kind, or `None`.
pub fn owner_name<K: Resource>(object: &K, kind: &str) -> Option<String> {
    let owners = object.meta().owner_references.iter().flatten();
    let mut found =
        owners.filter(|owner| owner.kind == kind && owner.api_version.starts_with("cluster.x-k8s.io/"));
    found.next().map(|owner| owner.name.clone())
}
