//! Columns of volume kinds.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or, wide};

/// Returns the columns of a kind in one of these groups; `None` if the columns of its definition apply.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "PersistentVolume") => volume(),
        ("", "PersistentVolumeClaim") => claim(),
        ("storage.k8s.io", "StorageClass") => class(),
        ("storage.k8s.io", "VolumeAttachment") => attachment(),
        ("storage.k8s.io", "VolumeAttributesClass") => vec![
            NAME,
            column("DriverName", "The driver that it is for.", |one, _| text(one, &["driverName"]).into()),
            AGE,
        ],
        _ => return None,
    })
}

fn modes(list: &Value) -> String {
    let modes = list.as_array().into_iter().flatten().map(|mode| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        other => other,
    });
    modes.collect::<Vec<_>>().join(",")
}

/// Returns `Terminating` for an object that is being deleted, else its phase.
fn phase(one: &Value, _: DateTime<Utc>) -> Value {
    let deleted = !text(one, &["metadata", "deletionTimestamp"]).is_empty();
    if deleted { "Terminating".into() } else { text(one, &["status", "phase"]).into() }
}

fn storage_class(one: &Value, _: DateTime<Utc>) -> Value {
    text(one, &["spec", "storageClassName"]).into()
}

fn attributes_class(one: &Value, _: DateTime<Utc>) -> Value {
    or(text(one, &["spec", "volumeAttributesClassName"]), "<unset>")
}

fn mode(one: &Value, _: DateTime<Utc>) -> Value {
    or(text(one, &["spec", "volumeMode"]), "<unset>")
}

pub(crate) fn volume() -> Vec<Column> {
    let claim = |one: &Value, _| {
        let claim = &one["spec"]["claimRef"];
        if claim.is_null() {
            return "".into();
        }
        format!("{}/{}", text(claim, &["namespace"]), text(claim, &["name"])).into()
    };
    vec![
        NAME,
        column("Capacity", "How much it holds.", |one, _| text(one, &["spec", "capacity", "storage"]).into()),
        column("Access Modes", "How it may be mounted.", |one, _| modes(&one["spec"]["accessModes"]).into()),
        column("Reclaim Policy", "What happens to the volume when its claim is deleted.", |one, _| {
            text(one, &["spec", "persistentVolumeReclaimPolicy"]).into()
        }),
        column("Status", "Whether it is bound.", phase),
        column("Claim", "The claim it is bound to.", claim),
        column("StorageClass", "Its class.", storage_class),
        column("VolumeAttributesClass", "The class of its attributes.", attributes_class),
        column("Reason", "Why it is in its phase, in a word.", |one, _| {
            text(one, &["status", "reason"]).into()
        }),
        AGE,
        wide(column("VolumeMode", "A file system or a block device.", mode)),
    ]
}

pub(crate) fn claim() -> Vec<Column> {
    vec![
        NAME,
        column("Status", "Whether it is bound.", phase),
        column("Volume", "The volume it is bound to.", |one, _| text(one, &["spec", "volumeName"]).into()),
        column("Capacity", "How much the volume holds.", |one, _| {
            text(one, &["status", "capacity", "storage"]).into()
        }),
        column("Access Modes", "How the volume may be mounted.", |one, _| {
            modes(&one["status"]["accessModes"]).into()
        }),
        column("StorageClass", "The class it asks for.", storage_class),
        column("VolumeAttributesClass", "The class of attributes it asks for.", attributes_class),
        AGE,
        wide(column("VolumeMode", "A file system or a block device.", mode)),
    ]
}

pub(crate) fn class() -> Vec<Column> {
    let name = |one: &Value, _| {
        let name = machinery::meta::name(one);
        let annotations = &one["metadata"]["annotations"];
        if annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
            format!("{name} (default)").into()
        } else {
            name.into()
        }
    };
    vec![
        Column { cell: name, ..NAME },
        column("Provisioner", "Who makes its volumes.", |one, _| text(one, &["provisioner"]).into()),
        column("ReclaimPolicy", "What becomes of a volume when its claim goes.", |one, _| {
            or(text(one, &["reclaimPolicy"]), "Delete")
        }),
        column("VolumeBindingMode", "When a volume is made.", |one, _| {
            or(text(one, &["volumeBindingMode"]), "Immediate")
        }),
        column("AllowVolumeExpansion", "Whether volumes can grow.", |one, _| {
            (one["allowVolumeExpansion"] == true).into()
        }),
        AGE,
    ]
}

pub(crate) fn attachment() -> Vec<Column> {
    vec![
        NAME,
        Column {
            format: "name",
            ..column("Attacher", "Who attaches it.", |one, _| text(one, &["spec", "attacher"]).into())
        },
        column("PV", "The volume.", |one, _| text(one, &["spec", "source", "persistentVolumeName"]).into()),
        column("Node", "The node.", |one, _| text(one, &["spec", "nodeName"]).into()),
        Column {
            kind: "boolean",
            ..column("Attached", "Whether it is attached.", |one, _| {
                (one["status"]["attached"] == true).into()
            })
        },
        AGE,
    ]
}
