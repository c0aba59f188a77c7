//! Table tests of the add-ons: which writes follow from what is in the workload cluster.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

mod corefile;
mod image;
mod kubeadm_config;

use std::sync::Arc;

use kubeadm::controlplane::addons::{Addons, Change, Decision, migrate, plan};
use schemas::controlplane::KubeadmControlPlane;
use schemas::version::Version;
use serde_json::{Value, json};

const OLD: &str = ".:53 {\n    errors\n    kubernetes cluster.local {\n        upstream\n    }\n}\n";
const NEW: &str = ".:53 {\n    errors\n    kubernetes cluster.local\n    ready\n}\n";

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn control_plane(configuration: Value) -> KubeadmControlPlane {
    from(json!({
        "metadata": {"name": "cp"},
        "spec": {"version": "v1.36.0+build", "kubeadmConfigSpec": {"clusterConfiguration": configuration}},
    }))
}

fn pods(name: &str, image: &str, volumes: Value) -> Value {
    let spec = json!({"containers": [{"name": name, "image": image}], "volumes": volumes});
    json!({"metadata": {"name": name}, "spec": {"selector": {}, "template": {"spec": spec}}})
}

/// Returns the add-ons of a cluster whose CoreDNS reads `key` of the given configuration.
fn addons(image: &str, key: &str, corefile: Value) -> Addons {
    let items = json!([{"key": key, "path": "Corefile"}]);
    let volumes = json!([{"name": "config-volume", "configMap": {"name": "coredns", "items": items}}]);
    Addons {
        coredns: Some(Arc::new(from(pods("coredns", image, volumes)))),
        corefile: Some(Arc::new(from(json!({"metadata": {"resourceVersion": "7"}, "data": corefile})))),
        ..Addons::default()
    }
}

fn corefile(corefile: &str, backup: &str) -> Change {
    Change::Corefile { corefile: corefile.to_owned(), backup: backup.to_owned(), version: "7".to_owned() }
}

fn image(image: &str) -> Change {
    Change::CoreDnsImage { image: image.to_owned(), mounts: true }
}

#[test]
fn kube_proxy_follows_the_version_whoever_changes_it() {
    let with = |image: &str| Addons {
        kube_proxy: Some(Arc::new(from(pods("kube-proxy", image, json!([]))))),
        ..Addons::default()
    };
    let set = |image: &str| vec![Change::KubeProxyImage(image.to_owned())];
    let wanted = "registry.k8s.io/kube-proxy:v1.36.0_build";
    for (name, observed, configuration, changes) in [
        ("no kube-proxy", Addons::default(), json!({}), vec![]),
        ("right", with(wanted), json!({}), vec![]),
        ("older", with("registry.k8s.io/kube-proxy:v1.35.0"), json!({}), set(wanted)),
        ("set by somebody", with("evil/kube-proxy"), json!({}), set("evil/kube-proxy:v1.36.0_build")),
        ("repository", with(wanted), json!({"imageRepository": "m"}), set("m/kube-proxy:v1.36.0_build")),
    ] {
        assert_eq!(plan(&observed, &control_plane(configuration)).changes, changes, "{name}");
    }
    let mut skipped = control_plane(json!({}));
    skipped.metadata.annotations =
        Some([("controlplane.cluster.x-k8s.io/skip-kube-proxy".to_owned(), String::new())].into());
    assert_eq!(plan(&with("kube-proxy:v1.35.0"), &skipped), Decision::default());
}

#[test]
fn coredns_never_reads_a_configuration_of_another_version() {
    let (old, new) = ("registry.k8s.io/coredns:1.4.0", "registry.k8s.io/coredns:v1.12.1");
    let table = [
        ("first the copy", addons(old, "Corefile", json!({"Corefile": OLD})), vec![corefile(OLD, OLD)]),
        (
            "then the old version reads it, and only then the configuration changes",
            addons(old, "Corefile", json!({"Corefile": OLD, "Corefile-backup": OLD})),
            vec![Change::MountBackup, corefile(NEW, OLD), image(new)],
        ),
        (
            "stopped before the configuration",
            addons(old, "Corefile-backup", json!({"Corefile": OLD, "Corefile-backup": OLD})),
            vec![corefile(NEW, OLD), image(new)],
        ),
        (
            "stopped before the image",
            addons(old, "Corefile-backup", json!({"Corefile": NEW, "Corefile-backup": OLD})),
            vec![image(new)],
        ),
        ("done", addons(new, "Corefile", json!({"Corefile": NEW, "Corefile-backup": OLD})), vec![]),
        (
            "a configuration that stays needs no detour",
            addons("registry.k8s.io/coredns:v1.11.1", "Corefile", json!({"Corefile": NEW})),
            vec![corefile(NEW, NEW), image(new)],
        ),
        ("no CoreDNS", Addons::default(), vec![]),
    ];
    for (name, observed, changes) in table {
        let decision = plan(&observed, &control_plane(json!({"dns": {"imageTag": "v1.12.1"}})));
        assert_eq!(decision, Decision { changes, trouble: None }, "{name}");
    }
}

#[test]
fn a_returned_tag_returns_the_configuration() {
    let old = "registry.k8s.io/coredns:1.4.0";
    let observed = addons(old, "Corefile-backup", json!({"Corefile": NEW, "Corefile-backup": OLD}));
    let decision = plan(&observed, &control_plane(json!({"dns": {"imageTag": "1.4.0"}})));
    assert_eq!(decision.changes, [corefile(OLD, OLD), image(old)]);
}

#[test]
fn the_image_of_coredns_has_a_repository_of_its_own() {
    let current = "registry.k8s.io/coredns/coredns:v1.12.0";
    for (configuration, expected) in [
        (json!({}), None),
        (json!({"dns": {"imageTag": "v1.12.1"}}), Some("registry.k8s.io/coredns/coredns:v1.12.1")),
        (json!({"imageRepository": "m"}), Some("m/coredns:v1.12.0")),
        (json!({"imageRepository": "k8s.gcr.io"}), Some("k8s.gcr.io/coredns/coredns:v1.12.0")),
        (json!({"imageRepository": "m", "dns": {"imageRepository": "d"}}), Some("d/coredns:v1.12.0")),
        (
            json!({"dns": {"imageTag": "v1.12.0_vendor.2"}}),
            Some("registry.k8s.io/coredns/coredns:v1.12.0_vendor.2"),
        ),
    ] {
        let observed = addons(current, "Corefile", json!({"Corefile": NEW, "Corefile-backup": NEW}));
        let changes = plan(&observed, &control_plane(configuration.clone())).changes;
        assert_eq!(changes, expected.map(image).into_iter().collect::<Vec<_>>(), "{configuration}");
    }
}

#[test]
fn kubeadm_is_told_the_image_of_coredns_first() {
    let mut observed =
        addons("coredns:v1.12.0", "Corefile", json!({"Corefile": NEW, "Corefile-backup": NEW}));
    let map =
        json!({"metadata": {"resourceVersion": "3"}, "data": {"ClusterConfiguration": "clusterName: c\n"}});
    observed.kubeadm_config = Some(Arc::new(from(map)));
    let changes = plan(&observed, &control_plane(json!({"dns": {"imageTag": "v1.12.1"}}))).changes;
    let text = "clusterName: c\ndns:\n  imageTag: v1.12.1\n".to_owned();
    assert_eq!(changes, [Change::KubeadmConfig { text, version: "3".to_owned() }, image("coredns:v1.12.1")]);
}

#[test]
fn what_prevents_an_update_is_told() {
    let same = json!({"Corefile": NEW});
    for (observed, tag, expected) in [
        (
            addons("coredns:v1.12.0", "Corefile", same.clone()),
            "v1.11.0",
            "CoreDNS can't be downgraded from v1.12.0 to v1.11.0",
        ),
        (
            addons("coredns:v1.0.0", "Corefile", same.clone()),
            "v1.12.0",
            "the changes of CoreDNS v1.0.0 are not known",
        ),
        (
            addons("coredns:v1.12.0", "Corefile", same.clone()),
            "v9.0.0",
            "the changes of CoreDNS v9.0.0 are not known",
        ),
        (
            addons("coredns:latest", "Corefile", same),
            "v1.12.0",
            "the tag \"latest\" of CoreDNS is no version",
        ),
        (
            addons("coredns:v1.11.1", "Corefile", json!({})),
            "v1.12.0",
            "ConfigMap coredns has no key Corefile",
        ),
        (
            addons("coredns:v1.11.1", "Corefile", json!({"Corefile": ". {"})),
            "v1.12.0",
            "a block is not closed",
        ),
    ] {
        let decision = plan(&observed, &control_plane(json!({"dns": {"imageTag": tag}})));
        assert_eq!(decision.changes, []);
        let trouble = decision.trouble.unwrap();
        assert!(trouble.contains(expected), "{trouble}");
    }
}

fn migrated(from: &str, to: &str, corefile: &str) -> Result<String, String> {
    migrate(&Version::parse(from).unwrap(), &Version::parse(to).unwrap(), corefile)
}

#[test]
fn a_corefile_is_rewritten_for_newer_versions() {
    let table = [
        ("ready", "1.4.0", "1.5.0", ". {\n kubernetes x\n}", ". {\n    kubernetes x\n    ready\n}\n"),
        ("loop", "1.2.0", "1.2.1", ". {\n proxy . 1.1.1.1\n}", ". {\n    proxy . 1.1.1.1\n    loop\n}\n"),
        (
            "proxy, and a zone of its own",
            "1.4.0",
            "1.5.0",
            ".:53 {\n proxy . /etc/resolv.conf {\n  policy round_robin\n  spray\n  protocol dns force_tcp\n }\n proxy corp 10.0.0.1\n}",
            ".:53 {\n    forward . /etc/resolv.conf {\n        policy round_robin\n        force_tcp\n    }\n}\ncorp {\n    forward . 10.0.0.1\n    \
             loop\n    errors\n    cache 30\n}\n",
        ),
        (
            "lameduck and max_concurrent, unless they are set",
            "1.6.4",
            "1.7.0",
            ". {\n health\n forward . 1.1.1.1 {\n max_concurrent 5\n}\n}",
            ". {\n    health {\n        lameduck 5s\n    }\n    forward . 1.1.1.1 {\n        max_concurrent 5\n    }\n}\n",
        ),
        (
            "transfer",
            "1.7.1",
            "1.8.0",
            ". {\n kubernetes c.local {\n transfer to * 10.0.0.1\n ttl 30\n }\n}",
            ". {\n    kubernetes c.local {\n        ttl 30\n    }\n    transfer c.local {\n        to * 10.0.0.1\n    }\n}\n",
        ),
        (
            "options of kubernetes",
            "1.3.1",
            "1.6.0",
            ". {\n kubernetes c.local {\n endpoint a b\n resyncperiod 5m\n upstream\n }\n ready\n}",
            ". {\n    kubernetes c.local {\n        endpoint a\n    }\n    ready\n}\n",
        ),
        (
            "nothing to do, comments stay",
            "1.8.0",
            "1.14.2",
            ". { # root\n errors\n}",
            ". { # root\n errors\n}",
        ),
        ("the same release", "1.9.3-a", "1.9.3-b", "{{{", "{{{"),
    ];
    for (name, from, to, corefile, expected) in table {
        assert_eq!(migrated(from, to, corefile).as_deref(), Ok(expected), "{name}");
    }
    let error = migrated("1.4.0", "1.5.0", "corp.example {\n forward x 1.1.1.1\n}").unwrap_err();
    assert_eq!(error, "the server corp.example forwards zones of its own");
}
