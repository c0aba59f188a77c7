//! The mounts of a container.

use std::collections::BTreeMap;
use std::path::Path;

use container_images::{Config, User};
use k8s_openapi::api::core::v1::{Container, Pod};
use kubelet::plan::{Facts, Written, instruction};
use pod_processes::{Isolation, Mount};
use serde_json::{Value, json};

/// Returns the mounts of a container with an emptyDir `data` and a Secret `secret`, besides a file at `/etc/hosts`.
fn mounts(mounts: Value, isolation: Isolation) -> Vec<Mount> {
    let container = json!({"name": "c", "command": ["/x"], "volumeMounts": mounts});
    let container: Container = serde_json::from_value(container).unwrap();
    let written = |path: &str, generation: Option<&str>| Written {
        path: path.into(),
        generation: generation.map(str::to_owned),
    };
    let volumes = BTreeMap::from([
        ("data".to_owned(), written("/volumes/data", None)),
        ("secret".to_owned(), written("/volumes/secret", Some("..7"))),
    ]);
    let hosts = Mount {
        source: "/files/hosts".into(),
        below: String::new(),
        target: "/etc/hosts".to_owned(),
        read_only: true,
    };
    let facts = Facts {
        image: &Config::default(),
        user: User { user: 1, group: 1, home: None },
        isolation,
        root: Path::new("/root"),
        volumes: &volumes,
        files: &[hosts],
        config_maps: &BTreeMap::new(),
        secrets: &BTreeMap::new(),
        variables: &[],
        pod_ip: "",
        namespaces: None,
        moves: &BTreeMap::new(),
        knows: &|_| false,
    };
    instruction(&Pod::default(), &container, &facts).unwrap().instruction.mounts
}

#[test]
fn mounts_are_made_from_the_top_downwards() {
    let given = json!([
        {"name": "secret", "mountPath": "/tmp/certs/deep"},
        {"name": "data", "mountPath": "/tmp//certs"},
        {"name": "secret", "mountPath": "/etc/hosts"},
        {"name": "data", "mountPath": "/etc"},
        {"name": "data", "mountPath": "/"},
    ]);
    let targets: Vec<_> = mounts(given, Isolation::Root).into_iter().map(|mount| mount.target).collect();
    // "/etc/hosts" of every container comes before that of the Pod, which lies on top of it.
    let expected = ["/", "/etc", "/etc/hosts", "/tmp//certs", "/etc/hosts", "/tmp/certs/deep"];
    assert_eq!(targets, expected);
}

#[test]
fn what_the_server_writes_is_read_only_whatever_the_pod_says() {
    let given = json!([
        {"name": "secret", "mountPath": "/a"},
        {"name": "secret", "mountPath": "/b", "readOnly": false, "subPath": "key"},
        {"name": "data", "mountPath": "/c", "subPath": "x/y"},
        {"name": "data", "mountPath": "/d", "readOnly": true},
    ]);
    let found: Vec<_> = mounts(given, Isolation::UserNamespace)
        .into_iter()
        .map(|mount| (mount.target, mount.source.display().to_string(), mount.below, mount.read_only))
        .filter(|(target, ..)| target != "/etc/hosts")
        .collect();
    let expected = [
        ("/a", "/volumes/secret", "", true),
        // The links in the volume's own folder are not followed.
        ("/b", "/volumes/secret", "..7/key", true),
        ("/c", "/volumes/data", "x/y", false),
        ("/d", "/volumes/data", "", true),
    ];
    let expected: Vec<_> = expected
        .map(|(target, source, below, read_only)| {
            (target.to_owned(), source.to_owned(), below.to_owned(), read_only)
        })
        .into();
    assert_eq!(found, expected);
}
