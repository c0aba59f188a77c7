//! Tests of add-ons, addresses, extensions and infrastructure.

use schemas::admission::{Facts, admit};
use serde_json::{Value, json};

use super::{creations, merge, summary, updates, with_features};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

#[test]
fn cluster_resource_set() {
    const GROUP: &str = "addons.cluster.x-k8s.io";
    let good = json!({ "spec": {
        "clusterSelector": { "matchLabels": { "a": "b" } },
        "resources": [{ "kind": "Secret", "name": "x" }],
        "strategy": "ApplyOnce",
    } });
    let all = json!({ "spec": { "clusterSelector": { "matchLabels": null } } });
    creations(
        GROUP,
        "ClusterResourceSet",
        &good,
        &[
            ("good", json!({}), &[]),
            ("selects nothing", all, &["spec.clusterSelector: Invalid"]),
            (
                "no selector",
                json!({ "spec": { "clusterSelector": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } } }),
                &["spec.clusterSelector: Invalid"],
            ),
        ],
    );
    updates(
        GROUP,
        "ClusterResourceSet",
        &good,
        &[
            ("resources", json!({ "spec": { "resources": [] } }), &[]),
            ("strategy", json!({ "spec": { "strategy": "Reconcile" } }), &["spec.strategy: Invalid"]),
            (
                "selector",
                json!({ "spec": { "clusterSelector": { "matchLabels": { "a": "c" } } } }),
                &["spec.clusterSelector: Invalid"],
            ),
        ],
    );
    updates(
        GROUP,
        "ClusterResourceSetBinding",
        &json!({ "spec": { "clusterName": "one" } }),
        &[("cluster", json!({ "spec": { "clusterName": "two" } }), &["spec.clusterName: Invalid"])],
    );
    updates(
        GROUP,
        "ClusterResourceSetBinding",
        &json!({ "spec": { "clusterName": "" } }),
        &[("first cluster", json!({ "spec": { "clusterName": "one" } }), &[])],
    );
}

#[test]
fn addresses() {
    const GROUP: &str = "ipam.cluster.x-k8s.io";
    let good = json!({ "spec": { "address": "10.0.0.5", "prefix": 24, "gateway": "10.0.0.1" } });
    let spec = |spec: Value| json!({ "spec": spec });
    creations(
        GROUP,
        "IPAddress",
        &good,
        &[
            ("good", json!({}), &[]),
            ("no address", spec(json!({ "address": "ten" })), &["spec.address: Invalid"]),
            ("prefix", spec(json!({ "prefix": 33 })), &["spec.prefix: Invalid"]),
            ("long prefix", spec(json!({ "address": "fd00::1", "prefix": 128 })), &[]),
            ("gateway", spec(json!({ "gateway": "x" })), &["spec.gateway: Invalid"]),
        ],
    );
    updates(GROUP, "IPAddress", &good, &[("change", spec(json!({ "prefix": 25 })), &["spec: Forbidden"])]);
    updates(
        GROUP,
        "IPAddressClaim",
        &json!({ "spec": { "poolRef": { "name": "a" } } }),
        &[
            ("labels", json!({ "metadata": { "labels": { "a": "b" } } }), &[]),
            ("change", spec(json!({ "poolRef": { "name": "b" } })), &["spec: Forbidden"]),
        ],
    );
}

#[test]
fn extension_config() {
    let service = json!({ "name": "svc", "namespace": "ns" });
    let config = |rest: Value| json!({ "spec": { "clientConfig": rest } });
    with_features(
        "runtime.cluster.x-k8s.io",
        "ExtensionConfig",
        &json!({ "metadata": { "name": "one" }, "spec": { "clientConfig": {} } }),
        &[
            ("neither", json!({}), &["spec.clientConfig: Required"]),
            (
                "both",
                config(json!({ "url": "https://a", "service": service })),
                &["spec.clientConfig: Forbidden"],
            ),
            ("url", config(json!({ "url": "https://a" })), &[]),
            ("not safe", config(json!({ "url": "http://a" })), &["spec.clientConfig.url: Invalid"]),
            ("service", config(json!({ "service": service })), &[]),
            (
                "path",
                config(json!({ "service": { "name": "svc", "namespace": "ns", "path": "a" } })),
                &["spec.clientConfig.service.path: Invalid"],
            ),
        ],
    );
}

#[test]
fn dev_kinds() {
    let backend = |backend: Value| json!({ "spec": { "backend": backend } });
    for kind in ["DevCluster", "DevMachine"] {
        creations(
            INFRASTRUCTURE,
            kind,
            &json!({}),
            &[
                ("in memory", backend(json!({ "inMemory": {} })), &[]),
                ("docker", backend(json!({ "docker": {} })), &[]),
                (
                    "none",
                    backend(json!({})),
                    if kind == "DevCluster" { &[] } else { &["spec.backend: Required"] },
                ),
                ("both", backend(json!({ "docker": {}, "inMemory": {} })), &["spec.backend: Forbidden"]),
            ],
        );
    }
}

#[test]
fn a_dev_cluster_is_one_of_containers_unless_it_says_otherwise() {
    let admitted = |kind: &str, spec: Value| {
        let mut object = spec;
        let found = admit(INFRASTRUCTURE, kind, &mut object, None, false, &Facts::of_empty_server());
        (object, summary(found))
    };
    let docker = json!({ "backend": { "docker": {} } });
    assert_eq!(admitted("DevCluster", json!({})), (json!({ "spec": docker }), vec![]));
    let template = json!({ "spec": { "template": {} } });
    assert_eq!(
        admitted("DevClusterTemplate", template),
        (json!({ "spec": { "template": { "spec": docker } } }), vec![])
    );
    let in_memory = json!({ "spec": { "backend": { "inMemory": {} } } });
    assert_eq!(admitted("DevCluster", in_memory.clone()), (in_memory, vec![]));
    let domains = |names: [&str; 2]| {
        let domains: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "spec": { "backend": { "docker": { "failureDomains": domains } } } })
    };
    let (object, errors) = admitted("DevCluster", domains(["a", "b"]));
    let first = &object["spec"]["backend"]["docker"]["failureDomains"][0];
    assert_eq!((first, errors), (&json!({ "name": "a", "controlPlane": false }), vec![]));
    let (_, errors) = admitted("DevCluster", domains(["b", "a"]));
    assert_eq!(errors, ["spec.backend.docker.failureDomains: Invalid"]);
}

#[test]
fn a_template_changes_only_for_the_topology_controller() {
    let good = json!({ "spec": { "template": { "spec": { "backend": { "inMemory": {} } } } } });
    let other = json!({ "spec": { "template": { "spec": { "backend": { "inMemory": { "vm": {} } } } } } });
    let asked = json!({ "metadata": { "annotations": { "topology.cluster.x-k8s.io/dry-run": "" } } });
    for (dry_run, annotated, allowed) in
        [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
    {
        let mut new = good.clone();
        merge(&mut new, &other);
        if annotated {
            merge(&mut new, &asked);
        }
        let found = admit(
            INFRASTRUCTURE,
            "DevMachineTemplate",
            &mut new,
            Some(&good),
            dry_run,
            &Facts::of_empty_server(),
        );
        assert_eq!(found.is_ok(), allowed, "dry run {dry_run}, annotated {annotated}");
    }
}
