//! Tests of MachinePools.

use schemas::admission::{Facts, Features, check};
use serde_json::json;

use super::{creations, updates, with_features};

const GROUP: &str = "cluster.x-k8s.io";

#[test]
fn machine_pool() {
    let reference = |kind: &str| json!({ "apiGroup": "x.cluster.x-k8s.io", "kind": kind, "name": "a" });
    let good = json!({
        "metadata": { "name": "one" },
        "spec": { "clusterName": "one", "template": { "spec": {
            "clusterName": "one", "version": "v1.36.0",
            "bootstrap": { "configRef": reference("KubeadmConfig") },
            "infrastructureRef": reference("DevMachinePool"),
        } } },
    });
    let template = |spec: serde_json::Value| json!({ "spec": { "template": { "spec": spec } } });
    let taints = json!([{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }]);
    let labels = json!({ "spec": { "template": { "metadata": { "labels": { "a": "b c" } } } } });
    creations(
        GROUP,
        "MachinePool",
        &good,
        &[
            ("good", json!({}), &[]),
            (
                "no bootstrap",
                template(json!({ "bootstrap": null })),
                &["spec.template.spec.bootstrap: Required"],
            ),
            (
                "own bootstrap data",
                template(json!({ "bootstrap": { "configRef": null, "dataSecretName": "x" } })),
                &[],
            ),
            (
                "template of another cluster",
                template(json!({ "clusterName": "two" })),
                &["spec.template.spec.clusterName: Invalid"],
            ),
            ("version", template(json!({ "version": "v1" })), &["spec.template.spec.version: Invalid"]),
            ("labels", labels, &["spec.template.metadata.labels: Invalid"]),
        ],
    );
    let refused: &[&str] = &["spec.template.spec.taints: Forbidden"];
    with_features(GROUP, "MachinePool", &good, &[("taints", template(json!({ "taints": taints })), refused)]);
    let other = json!({ "spec": { "clusterName": "two", "template": { "spec": { "clusterName": "two" } } } });
    updates(GROUP, "MachinePool", &good, &[("other cluster", other, &["spec.clusterName: Forbidden"])]);
    let off = Features { machine_pool: false, ..Features::default() };
    let errors = check(GROUP, "MachinePool", &good, None, false, off, &Facts::default()).unwrap_err();
    assert_eq!(errors[0].field, "spec");
}
