//! Which volumes claims need, which claims get none, and which volumes nobody needs any more. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec};
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::json;

use super::refusals::refusals;
use crate::names::STORAGE_PROVISIONER;

/// The folder of all volumes in a node, which has the folder `var` for all that is kept.
const FOLDER: &str = "/var/local-path-provisioner";
/// What Kubernetes' scheduler says of a claim whose class waits for the first Pod.
pub const SELECTED: &str = "volume.kubernetes.io/selected-node";
/// What Kubernetes says of a claim for which it has found no volume, so that its provisioner is to make one.
const ASKED: &str = "volume.kubernetes.io/storage-provisioner";
/// What every provisioner says of its volumes.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The node of a volume.
const NODE: &str = "firstlight.dev/node";

/// What is in a cluster.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The StorageClasses, also those of other provisioners.
    pub classes: Vec<Arc<StorageClass>>,
    /// The PersistentVolumeClaims of all namespaces.
    pub claims: Vec<Arc<PersistentVolumeClaim>>,
    /// The PersistentVolumes, also those of other provisioners.
    pub volumes: Vec<Arc<PersistentVolume>>,
    /// The names of its nodes that have containers, which are also those of the containers.
    pub nodes: BTreeSet<String>,
    /// The names of all its Nodes.
    pub joined: BTreeSet<String>,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// A folder in a node, and a volume for it.
    Make {
        /// The node.
        node: String,
        /// The volume, which is there after its folder.
        volume: Box<PersistentVolume>,
        /// The claim that waits for it.
        claim: Arc<PersistentVolumeClaim>,
    },
    /// A claim is told why it gets no volume.
    Refuse {
        /// The claim.
        claim: Arc<PersistentVolumeClaim>,
        /// Why, and what to do.
        why: String,
    },
    /// The node of a claim is gone, and the scheduler is to choose another one.
    Reschedule {
        /// The claim.
        claim: Arc<PersistentVolumeClaim>,
        /// The node.
        node: String,
    },
    /// The removal of a volume and of its folder, if its node is still there.
    Remove {
        /// The node.
        node: Option<String>,
        /// The volume.
        volume: Arc<PersistentVolume>,
    },
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
pub fn plan(observed: &Observed) -> Vec<Step> {
    let classes = observed.classes.iter().filter(|class| is_ours(class));
    let classes: BTreeMap<&str, &StorageClass> =
        classes.filter_map(|class| Some((class.metadata.name.as_deref()?, class.as_ref()))).collect();
    let made: BTreeSet<&str> =
        observed.volumes.iter().filter_map(|volume| volume.metadata.name.as_deref()).collect();
    let waiting = observed.claims.iter().filter(|claim| !made.contains(name(claim).as_str()));
    let wanted = waiting.filter_map(|claim| answer(claim, &classes, observed));
    let unused = observed.volumes.iter().filter(|volume| is_unused(volume)).map(|volume| {
        let node = annotation(volume.as_ref(), NODE).filter(|node| observed.nodes.contains(*node));
        Step::Remove { node: node.map(str::to_owned), volume: volume.clone() }
    });
    wanted.chain(unused).collect()
}

/// Returns the name of the volume for a claim.
fn name(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", uid(claim))
}

/// Returns what a claim gets that waits for a volume, in the order of Kubernetes' library for provisioners
/// (sig-storage-lib-external-provisioner): first what no provisioner of this kind can make, then the node.
fn answer(
    claim: &Arc<PersistentVolumeClaim>,
    classes: &BTreeMap<&str, &StorageClass>,
    observed: &Observed,
) -> Option<Step> {
    let spec = claim.spec.as_ref()?;
    let class = classes.get(spec.storage_class_name.as_deref()?)?;
    let is_bound = spec.volume_name.as_deref().is_some_and(|name| !name.is_empty());
    if is_bound || is_deleting(claim.as_ref()) {
        return None;
    }
    let node = annotation(claim.as_ref(), SELECTED).filter(|node| !node.is_empty());
    let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
    let is_asked = !waits && annotation(claim.as_ref(), ASKED) == Some(STORAGE_PROVISIONER);
    // Before its first Pod, Kubernetes itself says of a claim for what it waits.
    if node.is_none() && !is_asked {
        return None;
    }
    let mut why = refusals(spec);
    let Some(node) = node else {
        why.push(format!(
            "no node was chosen, because the StorageClass {} has volumeBindingMode Immediate: make one with WaitForFirstConsumer",
            class.metadata.name.as_deref().unwrap_or_default()
        ));
        return Some(refuse(claim, &why));
    };
    if !why.is_empty() {
        return Some(refuse(claim, &why));
    }
    if !observed.joined.contains(node) {
        return Some(Step::Reschedule { claim: claim.clone(), node: node.to_owned() });
    }
    if !observed.nodes.contains(node) {
        let why = format!(
            "node {node} is none of this cluster's DevMachines with the Docker backend: let its Pod run on one of these"
        );
        return Some(Step::Refuse { claim: claim.clone(), why });
    }
    let volume = Box::new(volume(claim, spec, class, node)?);
    Some(Step::Make { node: node.to_owned(), volume, claim: claim.clone() })
}

fn refuse(claim: &Arc<PersistentVolumeClaim>, why: &[String]) -> Step {
    let why = format!("{}. Then create the claim again: it cannot be changed", why.join("; "));
    Step::Refuse { claim: claim.clone(), why }
}

/// Returns the volume for a claim.
fn volume(
    claim: &PersistentVolumeClaim,
    spec: &PersistentVolumeClaimSpec,
    class: &StorageClass,
    node: &str,
) -> Option<PersistentVolume> {
    let size = spec.resources.as_ref()?.requests.as_ref()?.get("storage")?;
    let name = name(claim);
    let volume = json!({
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: STORAGE_PROVISIONER, NODE: node}},
        "spec": {
            "storageClassName": spec.storage_class_name,
            "persistentVolumeReclaimPolicy": class.reclaim_policy.as_deref().unwrap_or("Delete"),
            "capacity": {"storage": size},
            "accessModes": spec.access_modes.as_deref().unwrap_or_default(),
            "volumeMode": "Filesystem",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.metadata.namespace,
                "name": claim.metadata.name, "uid": uid(claim)},
            "local": {"path": format!("{FOLDER}/{name}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}},
        },
    });
    serde_json::from_value(volume).ok()
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
