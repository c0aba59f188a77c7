//! The plan of a binding. Pure.

use engine::object::is_deleting;
use engine::{NamespacedName, paused};
use schemas::addons::ClusterResourceSetBinding;
use schemas::deletion_grace::is_torn_down;

use super::observe::Observed;

/// What to do with a binding.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// Its Cluster exists.
    Keep,
    /// Its Cluster is gone or being deleted.
    Delete,
}

/// Makes the plan. The add-ons of a Cluster with a topology end with it, too: runtime extensions, which upstream asks first, are not called
/// here.
pub fn plan(observed: &Observed) -> Plan {
    let binding = observed.binding.as_ref();
    if is_deleting(binding) || !paused::causes(binding, None).is_empty() {
        return Plan::Keep;
    }
    match &observed.cluster {
        Some(cluster) if !is_torn_down(cluster) => Plan::Keep,
        _ => Plan::Delete,
    }
}

/// Returns the Cluster of a binding. Old bindings have only its name as their own.
pub fn cluster_of(binding: &ClusterResourceSetBinding) -> NamespacedName {
    let name = NamespacedName::of(binding);
    match binding.spec.cluster_name.as_str() {
        "" => name,
        cluster => NamespacedName::new(name.namespace, cluster),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schemas::FromJson;
    use serde_json::{Value, json};

    use super::*;

    fn parse<T: FromJson>(value: Value) -> Arc<T> {
        Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn a_binding_goes_with_its_cluster() {
        let deleted = json!({"name": "c", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let here = json!({"name": "c", "namespace": "n"});
        let held = json!({"name": "c", "namespace": "n", "annotations": {"cluster.x-k8s.io/paused": ""}});
        for (binding, cluster, expected) in [
            (&here, Some(&here), Plan::Keep),
            (&here, Some(&deleted), Plan::Delete),
            (&here, None, Plan::Delete),
            (&deleted, None, Plan::Keep),
            (&held, None, Plan::Keep),
        ] {
            let observed = Observed {
                binding: parse(json!({"metadata": binding, "spec": {"clusterName": "c"}})),
                cluster: cluster.map(|metadata| parse(json!({"metadata": metadata}))),
            };
            assert_eq!(plan(&observed), expected, "{binding} {cluster:?}");
        }
    }

    #[test]
    fn an_old_binding_has_the_name_of_its_cluster() {
        let name = |spec: Value| {
            cluster_of(&parse(json!({"metadata": {"name": "b", "namespace": "n"}, "spec": spec}))).to_string()
        };
        assert_eq!((name(json!({"clusterName": "c"})), name(json!({}))), ("n/c".into(), "n/b".into()));
    }
}
