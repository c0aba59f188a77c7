//! The kinds that a workload cluster serves beside those of every API server, written as CustomResourceDefinitions.
//!
//! Their schemas say only what clients depend on: how lists merge, and which fields select. Anything else is
//! kept as it was sent, since nothing here runs pods.

use serde_json::{Value, json};

struct Kind {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    selectable: &'static [&'static str],
}

const DEFAULT: Kind =
    Kind { group: "", kind: "", plural: "", short_names: &[], namespaced: true, selectable: &[] };

const KINDS: &[Kind] = &[
    Kind {
        kind: "Node",
        plural: "nodes",
        short_names: &["no"],
        namespaced: false,
        selectable: &[".spec.unschedulable"],
        ..DEFAULT
    },
    Kind {
        kind: "Pod",
        plural: "pods",
        short_names: &["po"],
        selectable: &[".spec.nodeName", ".status.phase"],
        ..DEFAULT
    },
    Kind { kind: "Service", plural: "services", short_names: &["svc"], ..DEFAULT },
    Kind { kind: "Endpoints", plural: "endpoints", short_names: &["ep"], ..DEFAULT },
    Kind {
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short_names: &["pvc"],
        ..DEFAULT
    },
    Kind {
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        short_names: &["pv"],
        namespaced: false,
        ..DEFAULT
    },
    Kind { group: "apps", kind: "DaemonSet", plural: "daemonsets", short_names: &["ds"], ..DEFAULT },
    Kind { group: "apps", kind: "Deployment", plural: "deployments", short_names: &["deploy"], ..DEFAULT },
    Kind { group: "apps", kind: "ReplicaSet", plural: "replicasets", short_names: &["rs"], ..DEFAULT },
    Kind { group: "apps", kind: "StatefulSet", plural: "statefulsets", short_names: &["sts"], ..DEFAULT },
    Kind {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        plural: "volumeattachments",
        namespaced: false,
        ..DEFAULT
    },
    Kind { group: "storage.k8s.io", kind: "CSIDriver", plural: "csidrivers", namespaced: false, ..DEFAULT },
    Kind {
        group: "storage.k8s.io",
        kind: "StorageClass",
        plural: "storageclasses",
        short_names: &["sc"],
        namespaced: false,
        ..DEFAULT
    },
    Kind {
        group: "policy",
        kind: "PodDisruptionBudget",
        plural: "poddisruptionbudgets",
        short_names: &["pdb"],
        ..DEFAULT
    },
];

/// The manifests, as [`registry::Options::kinds`] takes them.
pub fn manifests() -> Vec<Value> {
    KINDS.iter().map(manifest).collect()
}

fn manifest(kind: &Kind) -> Value {
    let name = if kind.group.is_empty() {
        kind.plural.to_owned()
    } else {
        format!("{}.{}", kind.plural, kind.group)
    };
    let selectable: Vec<Value> = kind.selectable.iter().map(|path| json!({"jsonPath": path})).collect();
    let singular = kind.kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": kind.group,
            "names": {
                "plural": kind.plural,
                "singular": singular,
                "kind": kind.kind,
                "listKind": format!("{}List", kind.kind),
                "shortNames": kind.short_names,
            },
            "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema()},
                "subresources": {"status": {}},
                "selectableFields": selectable,
            }],
        },
    })
}

/// What all of them have: conditions and taints merge by their keys.
fn schema() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "taints": {"type": "array", "items": any, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "key"},
                },
            },
            "status": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "conditions": {"type": "array", "items": any, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "type"},
                },
            },
        },
    })
}
