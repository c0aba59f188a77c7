//! Who owns an infrastructure object.

use kube::Resource;

/// The name of its owner of that Cluster API kind.
pub fn owner_name<K: Resource>(object: &K, kind: &str) -> Option<String> {
    let owners = object.meta().owner_references.iter().flatten();
    let mut found =
        owners.filter(|owner| owner.kind == kind && owner.api_version.starts_with("cluster.x-k8s.io/"));
    found.next().map(|owner| owner.name.clone())
}
