//! Tests of defaults.

use schemas::admission::{Facts, admit};
use serde_json::{Value, json};

use super::merge;

/// Returns the object with its defaults, whether or not it is accepted.
fn defaulted(group: &str, kind: &str, object: Value, old: Option<&Value>) -> Value {
    let mut object = object;
    let _ = admit(group, kind, &mut object, old, false, &Facts::of_empty_server());
    object
}

/// Columns: group, kind, spec, and the whole object with defaults.
type Defaults = (&'static str, &'static str, Value, Value);

fn check(cases: &[Defaults]) {
    for (group, kind, spec, expected) in cases {
        let object = json!({ "metadata": { "name": "x" }, "spec": spec });
        let once = defaulted(group, kind, object, None);
        assert_eq!(once, *expected, "{kind}");
        assert_eq!(defaulted(group, kind, once.clone(), Some(&once)), once, "{kind} again");
    }
}

#[test]
fn kinds_that_make_machines() {
    let cluster_label = json!({ "cluster.x-k8s.io/cluster-name": "one" });
    let template = json!({ "clusterName": "one", "version": "1.35.0" });
    let cases = [
        (
            "cluster.x-k8s.io",
            "Machine",
            json!({ "clusterName": "one", "version": "1.35.0" }),
            json!({
                "metadata": { "name": "x", "labels": cluster_label },
                "spec": { "clusterName": "one", "version": "v1.35.0", "deletion": { "nodeDeletionTimeoutSeconds": 10 } },
            }),
        ),
        (
            "cluster.x-k8s.io",
            "MachineSet",
            json!({ "clusterName": "one", "selector": {}, "template": { "spec": template } }),
            json!({
                "metadata": { "name": "x", "labels": cluster_label },
                "spec": {
                    "clusterName": "one",
                    "replicas": 1,
                    "selector": { "matchLabels": { "cluster.x-k8s.io/set-name": "x" } },
                    "template": {
                        "metadata": { "labels": { "cluster.x-k8s.io/set-name": "x" } },
                        "spec": { "clusterName": "one", "version": "v1.35.0" },
                    },
                },
            }),
        ),
        (
            "cluster.x-k8s.io",
            "MachineDeployment",
            json!({ "clusterName": "one", "selector": {}, "template": { "spec": template } }),
            json!({
                "metadata": { "name": "x", "labels": cluster_label },
                "spec": {
                    "clusterName": "one",
                    "replicas": 1,
                    "rollout": { "strategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
                    } },
                    "selector": { "matchLabels": {
                        "cluster.x-k8s.io/cluster-name": "one",
                        "cluster.x-k8s.io/deployment-name": "x",
                    } },
                    "template": {
                        "metadata": { "labels": {
                            "cluster.x-k8s.io/cluster-name": "one",
                            "cluster.x-k8s.io/deployment-name": "x",
                        } },
                        "spec": { "clusterName": "one", "version": "v1.35.0" },
                    },
                },
            }),
        ),
        (
            "cluster.x-k8s.io",
            "MachinePool",
            json!({ "clusterName": "one", "template": { "spec": template } }),
            json!({
                "metadata": { "name": "x", "labels": cluster_label },
                "spec": {
                    "clusterName": "one",
                    "replicas": 1,
                    "template": { "spec": {
                        "clusterName": "one",
                        "version": "v1.35.0",
                        "deletion": { "nodeDeletionTimeoutSeconds": 10 },
                    } },
                },
            }),
        ),
    ];
    check(&cases);
}

#[test]
fn other_kinds() {
    let cases = [
        (
            "cluster.x-k8s.io",
            "MachineHealthCheck",
            json!({ "clusterName": "one" }),
            json!({
                "metadata": { "name": "x", "labels": { "cluster.x-k8s.io/cluster-name": "one" } },
                "spec": { "clusterName": "one", "checks": { "nodeStartupTimeoutSeconds": 600 } },
            }),
        ),
        (
            "controlplane.cluster.x-k8s.io",
            "KubeadmControlPlane",
            json!({ "version": "1.35.0" }),
            json!({
                "metadata": { "name": "x" },
                "spec": {
                    "replicas": 1,
                    "version": "v1.35.0",
                    "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } } },
                },
            }),
        ),
        (
            "addons.cluster.x-k8s.io",
            "ClusterResourceSet",
            json!({}),
            json!({ "metadata": { "name": "x" }, "spec": { "strategy": "ApplyOnce" } }),
        ),
        (
            "runtime.cluster.x-k8s.io",
            "ExtensionConfig",
            json!({ "clientConfig": { "service": { "name": "a" } } }),
            json!({
                "metadata": { "name": "x" },
                "spec": { "clientConfig": { "service": { "name": "a", "port": 443 } }, "namespaceSelector": {} },
            }),
        ),
    ];
    check(&cases);
}

#[test]
fn what_is_set_stays() {
    let object = json!({
        "metadata": { "name": "x", "labels": { "a": "b" } },
        "spec": {
            "clusterName": "one",
            "replicas": 0,
            "rollout": { "strategy": { "type": "OnDelete" } },
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "clusterName": "one", "version": "v1.35.0" },
            },
        },
    });
    let mut expected = object.clone();
    let label = json!({ "cluster.x-k8s.io/cluster-name": "one" });
    merge(
        &mut expected,
        &json!({
            "metadata": { "labels": label },
            "spec": { "selector": { "matchLabels": label }, "template": { "metadata": { "labels": label } } },
        }),
    );
    assert_eq!(defaulted("cluster.x-k8s.io", "MachineDeployment", object, None), expected);
}

#[test]
fn replicas_within_the_bounds_of_the_autoscaler() {
    let bounds = json!({
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "2",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5",
    });
    for (old, expected) in [(None, 2), (Some(json!(1)), 2), (Some(json!(4)), 4), (Some(json!(9)), 5)] {
        let object = json!({ "metadata": { "annotations": bounds }, "spec": { "clusterName": "one" } });
        let old = old.map(|replicas| json!({ "spec": { "clusterName": "one", "replicas": replicas } }));
        let found = defaulted("cluster.x-k8s.io", "MachineDeployment", object, old.as_ref());
        assert_eq!(found["spec"]["replicas"], expected, "{old:?}");
    }
}
