//! What a ClusterResourceSetBinding records of a set. Pure.

use chrono::{DateTime, Utc};
use engine::owners;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::rfc3339;
use schemas::addons::{
    ClusterResourceSet, ClusterResourceSetBinding, ResourceBinding, ResourceReference, ResourceSetBinding,
};

use super::outcome::Verdict;

/// Returns the new binding of a Cluster, which has the Cluster's name.
pub fn new(cluster: &engine::NamespacedName, set: &ClusterResourceSet) -> ClusterResourceSetBinding {
    let mut binding = ClusterResourceSetBinding {
        metadata: ObjectMeta {
            name: Some(cluster.name.clone()),
            namespace: Some(cluster.namespace.clone()),
            ..ObjectMeta::default()
        },
        ..ClusterResourceSetBinding::default()
    };
    binding.spec.cluster_name.clone_from(&cluster.name);
    owners::ensure(&mut binding, owners::reference(set, &()));
    binding
}

/// Returns what the binding records of a resource of the set.
pub fn entry<'a>(
    binding: &'a ClusterResourceSetBinding,
    set: &str,
    reference: &ResourceReference,
) -> Option<&'a ResourceBinding> {
    let of_set = binding.spec.bindings.iter().find(|entry| entry.cluster_resource_set_name == set)?;
    of_set.resources.iter().find(|entry| entry.kind == reference.kind && entry.name == reference.name)
}

/// Returns the binding with the outcome of applying resources of the set. Entries of other resources stay. The repetition of a failure
/// changes nothing, so that it is not written with every attempt.
pub fn with(
    binding: &ClusterResourceSetBinding,
    set: &ClusterResourceSet,
    outcome: &[(ResourceReference, Verdict)],
    now: DateTime<Utc>,
) -> ClusterResourceSetBinding {
    let mut wanted = binding.clone();
    owners::ensure(&mut wanted, owners::reference(set, &()));
    let cluster = wanted.metadata.name.clone().unwrap_or_default();
    if wanted.spec.cluster_name.is_empty() {
        wanted.spec.cluster_name = cluster;
    }
    let name = set.metadata.name.clone().unwrap_or_default();
    let all = &mut wanted.spec.bindings;
    let known = all.iter().position(|entry| entry.cluster_resource_set_name == name);
    let index = known.unwrap_or(all.len());
    if known.is_none() {
        all.push(ResourceSetBinding { cluster_resource_set_name: name, resources: Vec::new() });
    }
    let resources = &mut all[index].resources;
    for (reference, verdict) in outcome {
        let new = ResourceBinding {
            applied: verdict.failure.is_none(),
            hash: verdict.hash.clone(),
            kind: reference.kind.clone(),
            last_applied_time: Some(rfc3339(now)),
            name: reference.name.clone(),
        };
        match resources.iter_mut().find(|old| old.kind == new.kind && old.name == new.name) {
            Some(old) if !old.applied && !new.applied && old.hash == new.hash => {}
            Some(old) => *old = new,
            None => resources.push(new),
        }
    }
    wanted
}

/// Returns the binding without the set; `None` if it does not name it.
pub fn without(
    binding: &ClusterResourceSetBinding,
    set: &ClusterResourceSet,
) -> Option<ClusterResourceSetBinding> {
    let mut wanted = binding.clone();
    owners::remove(&mut wanted, &owners::reference(set, &()));
    let name = set.metadata.name.as_deref().unwrap_or_default();
    wanted.spec.bindings.retain(|entry| entry.cluster_resource_set_name != name);
    (wanted != *binding).then_some(wanted)
}
