//! The kinds that a workload cluster serves in another way than every API server, as CustomResourceDefinitions: no
//! kubelet and no controller ends what a deletion of theirs begins.
//!
//! Their schemas contain only what clients depend on: the fields of the root, how lists merge, and which fields can be
//! selected. All other fields are stored as sent, since no Pods run here.

use std::sync::LazyLock;

use registry::{Kinds, OpenError};
use serde_json::{Value, json};

struct Kind {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    selectable: &'static [&'static str],
    /// The fields of the root besides `status`, of which `kubectl` knows nothing else, with their types.
    fields: &'static [(&'static str, &'static str)],
    /// `status.phase` of a new object.
    phase: Option<&'static str>,
}

const DEFAULT: Kind = Kind {
    group: "",
    kind: "",
    plural: "",
    short_names: &[],
    namespaced: true,
    selectable: &[],
    fields: &[("spec", "object")],
    phase: None,
};

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
        phase: Some("Pending"),
        ..DEFAULT
    },
    Kind { kind: "Service", plural: "services", short_names: &["svc"], ..DEFAULT },
    Kind {
        kind: "Endpoints",
        plural: "endpoints",
        short_names: &["ep"],
        fields: &[("subsets", "array")],
        ..DEFAULT
    },
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
        fields: &[
            ("allowVolumeExpansion", "boolean"),
            ("allowedTopologies", "array"),
            ("mountOptions", "array"),
            ("parameters", "object"),
            ("provisioner", "string"),
            ("reclaimPolicy", "string"),
            ("volumeBindingMode", "string"),
        ],
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

/// Returns the kinds, which are read once for all workload clusters.
///
/// # Errors
/// A manifest cannot be served.
pub fn all() -> Result<Kinds, OpenError> {
    static ALL: LazyLock<Result<Kinds, OpenError>> =
        LazyLock::new(|| Kinds::with(&KINDS.iter().map(manifest).collect::<Vec<_>>()));
    ALL.clone()
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
                "schema": {"openAPIV3Schema": schema(kind)},
                "subresources": {"status": {}},
                "selectableFields": selectable,
            }],
        },
    })
}

/// Returns the schema of all these kinds: conditions are merged by their types. All other lists are replaced; so are those of Nodes, but
/// for one that nobody sets.
fn schema(kind: &Kind) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut schema = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "status": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "conditions": {"type": "array", "items": any.clone(), "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "type"},
                },
            },
        },
    });
    for (field, form) in kind.fields {
        schema["properties"][field] = match *form {
            "object" => any.clone(),
            "array" => json!({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}}),
            form => json!({"type": form}),
        };
    }
    if let Some(phase) = kind.phase {
        schema["properties"]["status"]["default"] = json!({"phase": phase});
    }
    schema
}
