//! Tests of KubeadmConfig and KubeadmControlPlane.

use schemas::admission::{Facts, Features, admit, admit_scale};
use serde_json::{Value, json};

use super::{created_with, creations, updates, with_features};

const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

#[test]
fn kubeadm_config() {
    let secret = json!({ "secret": { "name": "s", "key": "k" } });
    let file = |rest: Value| {
        let mut file = json!({ "path": "/a" });
        super::merge(&mut file, &rest);
        json!({ "spec": { "files": [file] } })
    };
    creations(
        "bootstrap.cluster.x-k8s.io",
        "KubeadmConfig",
        &json!({ "spec": {} }),
        &[
            ("empty", json!({}), &[]),
            ("content", file(json!({ "content": "x" })), &[]),
            ("content from", file(json!({ "contentFrom": secret })), &[]),
            ("both", file(json!({ "content": "x", "contentFrom": secret })), &["spec.files[0]: Invalid"]),
            (
                "no key",
                file(json!({ "contentFrom": { "secret": { "name": "s" } } })),
                &["spec.files[0].contentFrom.secret.key: Required"],
            ),
            (
                "path twice",
                json!({ "spec": { "files": [{ "path": "/a" }, { "path": "/a" }] } }),
                &["spec.files[1].path: Invalid"],
            ),
            (
                "two passwords",
                json!({ "spec": { "users": [{ "name": "u", "passwd": "x", "passwdFrom": secret }] } }),
                &["spec.users[0]: Invalid"],
            ),
            (
                "more than the disk",
                json!({ "spec": { "diskSetup": { "partitions": [
                    { "device": "/dev/sdb", "diskLayout": [{ "percentage": 60 }, { "percentage": 41 }] },
                ] } } }),
                &["spec.diskSetup.partitions[0].diskLayout: Invalid"],
            ),
        ],
    );
    created_with(
        Features { kubeadm_bootstrap_format_ignition: false, ..Features::default() },
        "bootstrap.cluster.x-k8s.io",
        "KubeadmConfig",
        &json!({ "spec": {} }),
        &[("ignition is off", json!({ "spec": { "format": "ignition" } }), &["spec.format: Forbidden"])],
    );
    with_features(
        "bootstrap.cluster.x-k8s.io",
        "KubeadmConfig",
        &json!({ "spec": { "format": "ignition" } }),
        &[
            ("ignition", json!({}), &[]),
            (
                "boot commands",
                json!({ "spec": { "bootCommands": ["x"] } }),
                &["spec.bootCommands: Forbidden"],
            ),
            (
                "gzip",
                file(json!({ "encoding": "gzip+base64", "permissions": "0600" })),
                &["spec.files[0].encoding: Forbidden"],
            ),
            ("no permissions", file(json!({})), &["spec.files[0].permissions: Required"]),
            ("no mode", file(json!({ "permissions": "rw" })), &["spec.files[0].permissions: Invalid"]),
            (
                "no base64",
                file(json!({ "permissions": "0600", "encoding": "base64", "content": "?" })),
                &["spec.files[0].content: Invalid"],
            ),
            ("mount", json!({ "spec": { "mounts": [["a", "/a"]] } }), &["spec.mounts[0][0]: Invalid"]),
            ("half a mount", json!({ "spec": { "mounts": [["a"]] } }), &["spec.mounts[0]: Invalid"]),
            ("additional", additional("storage: {files: [{path: /f}]}"), &[]),
            ("additional in vain", additional("etcd: {}"), &[ADDITIONAL]),
            ("no map", additional("replace me"), &[ADDITIONAL]),
        ],
    );
}

const ADDITIONAL: &str = "spec.ignition.containerLinuxConfig.additionalConfig: Invalid";

fn additional(text: &str) -> Value {
    json!({ "spec": { "ignition": { "containerLinuxConfig": { "additionalConfig": text } } } })
}

#[test]
fn ignition_that_is_there_already_stays_writable_and_templates_may_have_placeholders() {
    let group = "bootstrap.cluster.x-k8s.io";
    let mut config = json!({ "spec": { "format": "ignition" } });
    super::merge(&mut config, &additional("etcd: {}"));
    let named = json!({ "metadata": { "labels": { "a": "b" } } });
    let other = json!({ "spec": { "verbosity": 1 } });
    updates(group, "KubeadmConfig", &config, &[("labels", named, &[]), ("spec", other, &[ADDITIONAL])]);

    let admitted = |text: &str| {
        let mut spec = json!({ "spec": { "format": "ignition" } });
        super::merge(&mut spec, &additional(text));
        let mut template = json!({ "spec": { "template": spec } });
        admit(group, "KubeadmConfigTemplate", &mut template, None, false, &Facts::of_empty_server())
    };
    let field = "spec.template.spec.ignition.containerLinuxConfig.additionalConfig";
    assert_eq!(admitted("replace me").unwrap(), [format!("{field}: must be a map")]);
    assert_eq!(admitted("etcd: {}").unwrap_err().len(), 1);
}

#[test]
fn a_control_plane_that_always_renews_its_certificates_is_named() {
    let warnings = |days: i64, validity: Value| {
        let mut new = plane();
        new["spec"]["rollout"]["before"] = json!({ "certificatesExpiryDays": days });
        new["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["certificateValidityPeriodDays"] = validity;
        admit(CONTROL_PLANE, "KubeadmControlPlane", &mut new, None, false, &Facts::of_empty_server())
    };
    assert_eq!(warnings(364, Value::Null).unwrap(), Vec::<String>::new());
    let warning = warnings(365, Value::Null).unwrap().remove(0);
    assert!(
        warning.starts_with("spec.rollout.before.certificatesExpiryDays: certificates live 365 days"),
        "{warning}"
    );
    assert_eq!(warnings(400, json!(500)).unwrap(), Vec::<String>::new());
    assert_eq!(warnings(400, json!(400)).unwrap_err().len(), 1);
}

fn plane() -> Value {
    json!({
        "metadata": { "name": "one" },
        "spec": {
            "replicas": 3,
            "version": "v1.34.2",
            "machineTemplate": { "spec": { "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "x",
            } } },
            "kubeadmConfigSpec": {
                "clusterConfiguration": { "certificatesDir": "/pki", "dns": { "imageTag": "v1.12.1" } },
                "joinConfiguration": { "nodeRegistration": { "name": "n" } },
            },
        },
    })
}

#[test]
fn kubeadm_control_plane() {
    let cluster = |rest: Value| json!({ "spec": { "kubeadmConfigSpec": { "clusterConfiguration": rest } } });
    let surge = |surge: Value, replicas: i64| json!({ "spec": { "replicas": replicas, "rollout": { "strategy": { "rollingUpdate": { "maxSurge": surge } } } } });
    const LIMITS: &str = "spec.rollout.strategy.rollingUpdate";
    const CLUSTER: &str = "spec.kubeadmConfigSpec.clusterConfiguration";
    let external = json!({ "etcd": { "external": { "endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c" } } });
    let mut even = cluster(external.clone());
    super::merge(&mut even, &json!({ "spec": { "replicas": 4 } }));
    creations(
        CONTROL_PLANE,
        "KubeadmControlPlane",
        &plane(),
        &[
            ("good", json!({}), &[]),
            ("none", json!({ "spec": { "replicas": 0 } }), &["spec.replicas: Forbidden"]),
            ("even", json!({ "spec": { "replicas": 2 } }), &["spec.replicas: Forbidden"]),
            ("even with external etcd", even, &[]),
            ("version", json!({ "spec": { "version": "v1.34" } }), &["spec.version: Invalid"]),
            ("surge 0", surge(json!(0), 3), &[]),
            ("surge 0 alone", surge(json!(0), 1), &[&format!("{LIMITS}: Required")]),
            ("surge 2", surge(json!(2), 3), &[&format!("{LIMITS}.maxSurge: Required")]),
            ("surge 1 as text", surge(json!("1"), 1), &[]),
            ("surge 0 as text", surge(json!("0"), 3), &[]),
            ("surge 0 as text alone", surge(json!("0"), 1), &[&format!("{LIMITS}: Required")]),
            ("surge 2 as text", surge(json!("2"), 3), &[&format!("{LIMITS}.maxSurge: Required")]),
            ("a text that is no number is 0", surge(json!("0\""), 3), &[]),
            ("and so is a percentage", surge(json!("50%"), 1), &[&format!("{LIMITS}: Required")]),
            (
                "two etcds",
                cluster(json!({ "etcd": { "local": {}, "external": external["etcd"]["external"] } })),
                &[&format!("{CLUSTER}.etcd.local: Forbidden")],
            ),
            (
                "tag",
                cluster(json!({ "dns": { "imageTag": "a:b" } })),
                &[&format!("{CLUSTER}.dns.imageTag: Invalid")],
            ),
            (
                "word as tag",
                cluster(json!({ "dns": { "imageTag": "best" } })),
                &[&format!("{CLUSTER}.dns.imageTag: Invalid")],
            ),
            (
                "certificates outlive the authority",
                cluster(
                    json!({ "certificateValidityPeriodDays": 400, "caCertificateValidityPeriodDays": 365 }),
                ),
                &[&format!("{CLUSTER}.certificateValidityPeriodDays: Invalid")],
            ),
            (
                "one timeout",
                json!({ "spec": { "kubeadmConfigSpec": { "initConfiguration": {
                    "timeouts": { "controlPlaneComponentHealthCheckSeconds": 5 },
                } } } }),
                &[
                    "spec.kubeadmConfigSpec.initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds: Invalid",
                ],
            ),
        ],
    );
}

#[test]
fn kubeadm_control_plane_changes() {
    let cluster = |rest: Value| json!({ "spec": { "kubeadmConfigSpec": { "clusterConfiguration": rest } } });
    const CLUSTER: &str = "spec.kubeadmConfigSpec.clusterConfiguration";
    let version = |version: &str| json!({ "spec": { "version": version } });
    let dns = |tag: &str| cluster(json!({ "dns": { "imageTag": tag } }));
    let mut unmanaged = dns("v1.99.0");
    super::merge(
        &mut unmanaged,
        &json!({ "metadata": { "annotations": { "controlplane.cluster.x-k8s.io/skip-coredns": "" } } }),
    );
    updates(
        CONTROL_PLANE,
        "KubeadmControlPlane",
        &plane(),
        &[
            ("nothing", json!({}), &[]),
            ("status", json!({ "status": { "replicas": 3 } }), &[]),
            ("replicas", json!({ "spec": { "replicas": 5 } }), &[]),
            ("next minor", version("v1.35.0"), &[]),
            ("two minors", version("v1.36.0"), &["spec.version: Forbidden"]),
            ("downgrade", version("v1.33.0"), &[]),
            ("api server", cluster(json!({ "apiServer": { "certSANs": ["a"] } })), &[]),
            (
                "folder of certificates",
                cluster(json!({ "certificatesDir": "/other" })),
                &[&format!("{CLUSTER}.certificatesDir: Forbidden")],
            ),
            (
                "the whole configuration goes",
                json!({ "spec": { "kubeadmConfigSpec": { "clusterConfiguration": null } } }),
                &[&format!("{CLUSTER}.certificatesDir: Forbidden")],
            ),
            (
                "an empty object appears",
                json!({ "spec": { "kubeadmConfigSpec": { "initConfiguration": {} } } }),
                &[],
            ),
            ("a newer CoreDNS", dns("v1.14.2"), &[]),
            ("the same CoreDNS, built again", dns("v1.12.1_vendor.2"), &[]),
            ("an older CoreDNS", dns("v1.12.0"), &[&format!("{CLUSTER}.dns.imageTag: Forbidden")]),
            ("a CoreDNS nobody knows", dns("v1.99.0"), &[&format!("{CLUSTER}.dns.imageTag: Forbidden")]),
            ("a CoreDNS that the user updates", unmanaged, &[]),
            ("external etcd appears", cluster(json!({ "etcd": { "external": {} } })), &[]),
        ],
    );
}

#[test]
fn scale() {
    let with_external = json!({ "spec": { "kubeadmConfigSpec": { "clusterConfiguration": { "etcd": { "external": {} } } } } });
    for (replicas, object, good) in [
        (0, json!({}), false),
        (1, json!({}), true),
        (2, json!({}), false),
        (2, with_external, true),
        (3, json!({}), true),
    ] {
        let found = admit_scale(CONTROL_PLANE, "KubeadmControlPlane", replicas, &object);
        assert_eq!(found.is_ok(), good, "{replicas}");
    }
    assert_eq!(admit_scale("apps", "Deployment", 0, &json!({})), Ok(()));
}
