//! Tests of Cluster, Machine and the kinds that create Machines.

use schemas::admission::{Facts, Features, check_deletion};
use serde_json::{Value, json};

use super::{created_with, creations, updates, with_features};

const GROUP: &str = "cluster.x-k8s.io";

fn reference(kind: &str) -> Value {
    json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": "x" })
}

#[test]
fn cluster() {
    let good = json!({
        "metadata": { "name": "one" },
        "spec": {
            "clusterNetwork": { "pods": { "cidrBlocks": ["192.168.0.0/16", "fd00::/64"] } },
            "infrastructureRef": reference("DevCluster"),
        },
    });
    let cidr = |block: &str| json!({ "spec": { "clusterNetwork": { "services": { "cidrBlocks": ["10.0.0.0/8", block] } } } });
    let bad_cidr: &[&str] = &["spec.clusterNetwork.services.cidrBlocks[1]: Invalid"];
    creations(
        GROUP,
        "Cluster",
        &good,
        &[
            ("good", json!({}), &[]),
            ("nothing to build", json!({ "spec": { "infrastructureRef": null } }), &["spec: Required"]),
            ("no length", cidr("10.0.0.0"), bad_cidr),
            ("too long", cidr("10.0.0.0/33"), bad_cidr),
            ("no address", cidr("ten/8"), bad_cidr),
            ("sign", cidr("10.0.0.0/+8"), bad_cidr),
        ],
    );
    created_with(
        Features { cluster_topology: false, ..Features::default() },
        GROUP,
        "Cluster",
        &good,
        &[(
            "topology is off",
            json!({ "spec": { "topology": { "classRef": { "name": "c" }, "version": "v1.35.0" } } }),
            &["spec.topology: Forbidden"],
        )],
    );
    updates(
        GROUP,
        "Cluster",
        &good,
        &[
            ("paused", json!({ "spec": { "paused": true } }), &[]),
            (
                "reference goes",
                json!({ "spec": { "infrastructureRef": null, "controlPlaneRef": reference("KubeadmControlPlane") } }),
                &["spec.infrastructureRef: Forbidden"],
            ),
        ],
    );
}

#[test]
fn the_grace_period_of_a_deletion_only_becomes_shorter() {
    const FIELD: &str = "metadata.annotations[firstlight.dev/deletion-grace-period]";
    let period = |value: &str| json!({ "metadata": { "annotations": { "firstlight.dev/deletion-grace-period": value } } });
    let plain =
        json!({ "metadata": { "name": "one" }, "spec": { "infrastructureRef": reference("DevCluster") } });
    let with = |value: &str, deleted: bool| {
        let mut cluster = plain.clone();
        cluster["metadata"]["annotations"] = period(value)["metadata"]["annotations"].clone();
        if deleted {
            cluster["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
        }
        cluster
    };
    let (invalid, forbidden) = (format!("{FIELD}: Invalid"), format!("{FIELD}: Forbidden"));
    let (invalid, forbidden): (&[&str], &[&str]) = (&[&invalid], &[&forbidden]);
    for (value, expected) in [
        ("10m", &[] as &[&str]),
        ("1h30m", &[]),
        ("720h", &[]),
        ("720h0m1s", invalid),
        ("0s", invalid),
        ("-1m", invalid),
        ("10", invalid),
        ("", invalid),
        ("1d", invalid),
        ("99999999999999h", invalid),
    ] {
        creations(GROUP, "Cluster", &plain, &[(value, period(value), expected)]);
    }
    let removed = json!({ "metadata": { "annotations": null } });
    updates(
        GROUP,
        "Cluster",
        &with("10m", false),
        &[("longer", period("1h"), &[]), ("removed", removed.clone(), &[])],
    );
    let deleted = with("10m", true);
    let cases = [
        ("as it is", json!({}), &[] as &[&str]),
        ("shorter", period("5m"), &[]),
        ("removed", removed, &[]),
        ("longer", period("11m"), forbidden),
        ("wrong", period("x"), invalid),
    ];
    updates(GROUP, "Cluster", &deleted, &cases);
    updates(
        GROUP,
        "Cluster",
        &with("x", true),
        &[("as it is", json!({}), &[]), ("corrected", period("1h"), &[])],
    );
    let mut begun = deleted;
    begun["metadata"]["annotations"] = json!({});
    updates(GROUP, "Cluster", &begun, &[("added", period("1m"), forbidden)]);
}

#[test]
fn a_cluster_with_a_grace_period_is_deleted_in_the_background() {
    let cluster = |finalizer: &str| {
        json!({ "metadata": { "name": "one", "finalizers": ["a/b", finalizer],
        "annotations": { "firstlight.dev/deletion-grace-period": "10m" } } })
    };
    let refuses = |object: &Value, policy: Option<&str>| {
        check_deletion(GROUP, "Cluster", object, policy, &Facts::default()).is_err()
    };
    for (finalizer, policy, expected) in [
        ("c/d", None, false),
        ("c/d", Some("Background"), false),
        ("c/d", Some("Foreground"), true),
        ("c/d", Some("Orphan"), true),
        ("foregroundDeletion", None, true),
        ("orphan", None, true),
        ("foregroundDeletion", Some("Background"), false),
    ] {
        assert_eq!(refuses(&cluster(finalizer), policy), expected, "{finalizer} {policy:?}");
    }
    assert!(!refuses(&json!({ "metadata": { "name": "one" } }), Some("Foreground")), "without a period");
}

#[test]
fn machine() {
    let good = json!({
        "metadata": { "name": "one" },
        "spec": {
            "clusterName": "one",
            "bootstrap": { "dataSecretName": "x" },
            "infrastructureRef": reference("DevMachine"),
            "version": "v1.35.0",
        },
    });
    let version = |version: &str| json!({ "spec": { "version": version } });
    creations(
        GROUP,
        "Machine",
        &good,
        &[
            ("good", json!({}), &[]),
            ("without v", version("1.35.0"), &[]),
            ("pre-release and build", version("v1.35.0-rc.1+b_2"), &[]),
            ("two numbers", version("v1.35"), &["spec.version: Invalid"]),
            ("leading zero", version("v1.035.0"), &["spec.version: Invalid"]),
            ("words", version("latest"), &["spec.version: Invalid"]),
            (
                "no bootstrap",
                json!({ "spec": { "bootstrap": { "dataSecretName": null } } }),
                &["spec.bootstrap: Required"],
            ),
            (
                "no bootstrap, of a pool",
                json!({
                    "metadata": { "ownerReferences": [{ "apiVersion": "a/b", "kind": "MachinePool", "name": "p", "uid": "u" }] },
                    "spec": { "bootstrap": { "dataSecretName": null } },
                }),
                &[],
            ),
        ],
    );
    created_with(
        Features { machine_taint_propagation: false, ..Features::default() },
        GROUP,
        "Machine",
        &good,
        &[(
            "taints are off",
            json!({ "spec": { "taints": [{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }] } }),
            &["spec.taints: Forbidden"],
        )],
    );
    updates(
        GROUP,
        "Machine",
        &good,
        &[("other cluster", json!({ "spec": { "clusterName": "two" } }), &["spec.clusterName: Forbidden"])],
    );
    let taint = |key: &str| json!({ "spec": { "taints": [{ "key": key, "effect": "NoSchedule", "propagation": "Always" }] } });
    let refused: &[&str] = &["spec.taints[0].key: Invalid"];
    with_features(
        GROUP,
        "Machine",
        &good,
        &[
            ("own taint", taint("example.com/gpu"), &[]),
            ("out of service", taint("node.kubernetes.io/out-of-service"), &[]),
            ("of Kubernetes", taint("node.kubernetes.io/not-ready"), refused),
            ("of Cluster API", taint("node.cluster.x-k8s.io/uninitialized"), refused),
            ("of the cloud", taint("node.cloudprovider.kubernetes.io/uninitialized"), refused),
            ("old", taint("node-role.kubernetes.io/master"), refused),
            ("control plane's, on a worker", taint("node-role.kubernetes.io/control-plane"), refused),
        ],
    );
}

#[test]
fn machine_deployment_and_set() {
    let good = json!({
        "metadata": { "name": "one" },
        "spec": {
            "clusterName": "one",
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": {
                    "clusterName": "one",
                    "bootstrap": { "configRef": reference("KubeadmConfigTemplate") },
                    "infrastructureRef": reference("DevMachineTemplate"),
                    "version": "v1.35.0",
                },
            },
        },
    });
    let naming = |template: &str| json!({ "spec": { "machineNaming": { "template": template } } });
    let skip = |checks: &str| json!({ "metadata": { "annotations": { "machineset.cluster.x-k8s.io/skip-preflight-checks": checks } } });
    let skip_path: &[&str] =
        &["metadata.annotations[machineset.cluster.x-k8s.io/skip-preflight-checks]: NotSupported"];
    let cases: &[super::Case<'_>] = &[
        ("good", json!({}), &[]),
        (
            "labels do not match",
            json!({ "spec": { "template": { "metadata": { "labels": { "a": "c" } } } } }),
            &["spec.template.metadata.labels: Invalid"],
        ),
        (
            "template of another cluster",
            json!({ "spec": { "template": { "spec": { "clusterName": "two" } } } }),
            &["spec.template.spec.clusterName: Invalid"],
        ),
        (
            "version",
            json!({ "spec": { "template": { "spec": { "version": "v1" } } } }),
            &["spec.template.spec.version: Invalid"],
        ),
        ("naming", naming("{{ .cluster.name }}-{{ .random }}"), &[]),
        ("naming by owner", naming("{{ .machineSet.name }}-{{ .random }}"), &[]),
        ("naming without random", naming("{{ .cluster.name }}"), &["spec.machineNaming.template: Invalid"]),
        (
            "naming with a stranger",
            naming("{{ .x }}-{{ .random }}"),
            &["spec.machineNaming.template: Invalid"],
        ),
        ("naming that is no name", naming("A_{{ .random }}"), &["spec.machineNaming.template: Invalid"]),
        ("checks skipped", skip("All, KubeadmVersionSkew"), &[]),
        ("unknown check skipped", skip("All,Everything"), skip_path),
    ];
    creations(GROUP, "MachineDeployment", &good, cases);
    creations(GROUP, "MachineSet", &good, cases);
    let limits = |surge: Value, unavailable: Value| json!({ "spec": { "rollout": { "strategy": { "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } } } } });
    const LIMITS: &str = "spec.rollout.strategy.rollingUpdate";
    creations(
        GROUP,
        "MachineDeployment",
        &good,
        &[
            ("percentages", limits(json!("25%"), json!("0%")), &[]),
            ("no percentage", limits(json!("a"), json!(0)), &[&format!("{LIMITS}.maxSurge: Invalid")]),
            ("both 0", limits(json!(0), json!(0)), &[&format!("{LIMITS}.maxUnavailable: Invalid")]),
            (
                "in flight",
                json!({ "spec": { "remediation": { "maxInFlight": "-1%" } } }),
                &["spec.remediation.maxInFlight: Invalid"],
            ),
        ],
    );
}

#[test]
fn machine_health_check_and_drain_rule() {
    let good = json!({
        "metadata": { "name": "one" },
        "spec": { "clusterName": "one", "selector": { "matchLabels": { "a": "b" } } },
    });
    let timeout = |seconds: i64| json!({ "spec": { "checks": { "nodeStartupTimeoutSeconds": seconds } } });
    creations(
        GROUP,
        "MachineHealthCheck",
        &good,
        &[
            ("good", json!({}), &[]),
            ("never", timeout(0), &[]),
            ("soon", timeout(29), &["spec.checks.nodeStartupTimeoutSeconds: Invalid"]),
            ("at the limit", timeout(30), &[]),
            (
                "selects all",
                json!({ "spec": { "selector": { "matchLabels": null } } }),
                &["spec.selector: Required"],
            ),
            (
                "of another cluster",
                json!({ "spec": { "selector": { "matchLabels": { "cluster.x-k8s.io/cluster-name": "two" } } } }),
                &["spec.selector.matchLabels.cluster.x-k8s.io/cluster-name: Invalid"],
            ),
            (
                "no percentage",
                json!({ "spec": { "remediation": { "triggerIf": { "unhealthyLessThanOrEqualTo": "many" } } } }),
                &["spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: Invalid"],
            ),
        ],
    );
    updates(
        GROUP,
        "MachineHealthCheck",
        &good,
        &[("other cluster", json!({ "spec": { "clusterName": "two" } }), &["spec.clusterName: Forbidden"])],
    );
    let good = json!({ "spec": { "drain": { "behavior": "Drain", "order": 5 } } });
    creations(
        GROUP,
        "MachineDrainRule",
        &good,
        &[
            ("good", json!({}), &[]),
            (
                "order without drain",
                json!({ "spec": { "drain": { "behavior": "Skip" } } }),
                &["spec.drain.order: Invalid"],
            ),
            (
                "selector",
                json!({ "spec": { "pods": [{ "selector": { "matchExpressions": [{ "key": "a", "operator": "Like" }] } }] } }),
                &["spec.pods[0].selector: Invalid"],
            ),
        ],
    );
}
