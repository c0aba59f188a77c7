//! Which volumes claims need, and which volumes nobody needs any more. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::json;

use crate::names::STORAGE_PROVISIONER;

/// The folder of all volumes in a node, which has the folder `var` for all that is kept.
const FOLDER: &str = "/var/local-path-provisioner";
/// What Kubernetes' scheduler says of a claim whose class waits for the first Pod.
const SELECTED: &str = "volume.kubernetes.io/selected-node";
/// What every provisioner says of its volumes.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The node of a volume.
const NODE: &str = "firstlight.dev/node";
/// The access modes of a volume that is in one node.
const MODES: [&str; 2] = ["ReadWriteOnce", "ReadWriteOncePod"];

/// What is in a cluster.
pub(super) struct Observed {
    pub classes: Vec<Arc<StorageClass>>,
    pub claims: Vec<Arc<PersistentVolumeClaim>>,
    pub volumes: Vec<Arc<PersistentVolume>>,
    /// The names of its nodes that have containers, which are also those of the containers.
    pub nodes: BTreeSet<String>,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// A folder in a node, and a volume for it.
    Make { node: String, volume: Box<PersistentVolume> },
    /// The removal of a volume and of its folder, if its node is still there.
    Remove { node: Option<String>, volume: Arc<PersistentVolume> },
}

/// Returns whether a class is one whose volumes are made here.
pub(super) fn is_ours(class: &StorageClass) -> bool {
    class.provisioner == STORAGE_PROVISIONER
}

/// Returns the folder of a volume in its node. The name of an object has no slash.
pub(super) fn folder(volume: &PersistentVolume) -> String {
    format!("{FOLDER}/{}", volume.metadata.name.as_deref().unwrap_or_default())
}

/// Returns what is to be done.
pub(super) fn plan(observed: &Observed) -> Vec<Step> {
    let classes = observed.classes.iter().filter(|class| is_ours(class));
    let classes: BTreeMap<&str, &StorageClass> =
        classes.filter_map(|class| Some((class.metadata.name.as_deref()?, class.as_ref()))).collect();
    let made: BTreeSet<&str> =
        observed.volumes.iter().filter_map(|volume| volume.metadata.name.as_deref()).collect();
    let wanted = observed.claims.iter().filter_map(|claim| make(claim, &classes, &observed.nodes));
    let is_new = |step: &Step| match step {
        Step::Make { volume, .. } => !made.contains(volume.metadata.name.as_deref().unwrap_or_default()),
        Step::Remove { .. } => false,
    };
    let unused = observed.volumes.iter().filter(|volume| is_unused(volume)).map(|volume| {
        let node = annotation(volume.as_ref(), NODE).filter(|node| observed.nodes.contains(*node));
        Step::Remove { node: node.map(str::to_owned), volume: volume.clone() }
    });
    wanted.filter(is_new).chain(unused).collect()
}

/// Returns the volume that a claim waits for.
fn make(
    claim: &PersistentVolumeClaim,
    classes: &BTreeMap<&str, &StorageClass>,
    nodes: &BTreeSet<String>,
) -> Option<Step> {
    let spec = claim.spec.as_ref()?;
    let class = classes.get(spec.storage_class_name.as_deref()?)?;
    let node = annotation(claim, SELECTED).filter(|node| nodes.contains(*node))?;
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    let is_possible = spec.volume_name.as_deref().is_none_or(str::is_empty)
        && spec.volume_mode.as_deref().is_none_or(|mode| mode == "Filesystem")
        && spec.selector.is_none()
        // Nobody would fill it.
        && spec.data_source.is_none()
        && spec.data_source_ref.is_none()
        && modes.iter().all(|mode| MODES.contains(&mode.as_str()))
        && !is_deleting(claim);
    let size = spec.resources.as_ref()?.requests.as_ref()?.get("storage")?;
    if !is_possible {
        return None;
    }
    let name = format!("pvc-{}", uid(claim));
    let volume = serde_json::from_value(json!({
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: STORAGE_PROVISIONER, NODE: node}},
        "spec": {
            "storageClassName": spec.storage_class_name,
            "persistentVolumeReclaimPolicy": class.reclaim_policy.as_deref().unwrap_or("Delete"),
            "capacity": {"storage": size},
            "accessModes": modes,
            "volumeMode": "Filesystem",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.metadata.namespace,
                "name": claim.metadata.name, "uid": uid(claim)},
            "local": {"path": format!("{FOLDER}/{name}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}},
        },
    }));
    Some(Step::Make { node: node.to_owned(), volume: Box::new(volume.ok()?) })
}

/// Returns whether a volume was made here.
pub(super) fn is_made_here(volume: &PersistentVolume) -> bool {
    annotation(volume, PROVISIONED_BY) == Some(STORAGE_PROVISIONER)
}

/// Returns whether a volume was made here, and its claim is gone.
fn is_unused(volume: &PersistentVolume) -> bool {
    let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    is_made_here(volume) && policy == Some("Delete") && phase == Some("Released")
}
