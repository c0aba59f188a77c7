//! Tests of `addons::binding::plan`.

use std::sync::Arc;

use addons::binding::observed::Observed;
use addons::binding::plan::{Plan, cluster_of, plan};
use schemas::FromJson;
use serde_json::{Value, json};

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
