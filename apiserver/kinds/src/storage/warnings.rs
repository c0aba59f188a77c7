//! Warnings about valid but questionable fields of volumes, claims and StorageClasses.

use machinery::field::quote;
use serde_json::Value;

use crate::fields::{annotated, list, text};
use crate::nodes::labels::{node_label, term_labels};
use crate::subject::Change;

/// Volume sources whose drivers are deprecated or removed.
pub(crate) const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Adds the warnings for a write to `found`.
pub(crate) fn of(change: &Change<'_>, found: &mut Vec<String>) {
    match (change.group, change.kind) {
        ("", "PersistentVolume") => volume(change.object, found),
        ("", "PersistentVolumeClaim") => {
            beta_class(change.object, found);
            storage(&change.object["spec"], "spec", found);
        }
        ("storage.k8s.io", "StorageClass") => storage_class(change.object, found),
        _ => {}
    }
}

/// Adds a warning for an amount of bytes with a fraction.
pub(crate) fn fraction(amounts: &Value, resource: &str, path: &str, found: &mut Vec<String>) {
    let amount = text(amounts, resource);
    // Amounts are in canonical form here.
    if amount.ends_with(['m', 'u', 'n']) {
        found.push(format!(
            "{path}[{resource}]: fractional byte value {} is invalid, must be an integer",
            quote(amount)
        ));
    }
}

pub(crate) fn storage(spec: &Value, path: &str, found: &mut Vec<String>) {
    for kind in ["requests", "limits"] {
        fraction(&spec["resources"][kind], "storage", &format!("{path}.resources.{kind}"), found);
    }
}

fn beta_class(object: &Value, found: &mut Vec<String>) {
    if annotated(object, BETA_CLASS) {
        found.push(format!(
            "metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
}

fn volume(object: &Value, found: &mut Vec<String>) {
    beta_class(object, found);
    let spec = &object["spec"];
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        found.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
                .into(),
        );
    }
    for (index, term) in list(&spec["nodeAffinity"]["required"], "nodeSelectorTerms").iter().enumerate() {
        term_labels(term, &format!("spec.nodeAffinity.required.nodeSelectorTerms[{index}]"), found);
    }
    for name in ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] {
        let why = VOLUMES.iter().find(|(volume, _)| *volume == name).map_or("", |(_, why)| why);
        if !spec[name].is_null() {
            let shown = if name == "storageos" { "storageOS" } else { name };
            found.push(format!("spec.{shown}: {why}"));
        }
    }
}

fn storage_class(object: &Value, found: &mut Vec<String>) {
    for (index, topology) in list(object, "allowedTopologies").iter().enumerate() {
        for (at, expression) in list(topology, "matchLabelExpressions").iter().enumerate() {
            let advice = node_label(text(expression, "key"));
            found.extend(
                advice
                    .map(|why| format!("allowedTopologies[{index}].matchLabelExpressions[{at}].key: {why}")),
            );
        }
    }
}
