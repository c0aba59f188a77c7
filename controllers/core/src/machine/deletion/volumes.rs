//! The step of a deletion that waits until no volume is attached to the Node any more.

use std::collections::BTreeSet;

use engine::NamespacedName;
use engine::object::annotation;
use engine::steps::Event;
use k8s_openapi::api::core::v1::{Node, PersistentVolume};

use super::timeouts::{come_again, end, is_over};
use super::{OUT_OF_REACH, deletion, is_past_drain, spec, start, status};
use crate::machine::changes::{Plan, Step};
use crate::machine::drain;
use crate::machine::observed::{NodeState, NodeVolumes, Observed, OnDemand};
use crate::machine::v1beta1;
use engine::messages;

const EXCLUDE: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";
const REASON: &str = "WaitingForVolumeDetach";
/// The maximum number of names in a line.
const NAMES: usize = 5;

/// Returns whether nobody waits for the volumes, or not any more. A kubelet that does not report detaches
/// none.
pub fn is_skipped(observed: &Observed) -> bool {
    let timeout = spec(observed).node_volume_detach_timeout_seconds;
    let since = deletion(observed).wait_for_node_volume_detach_start_time;
    annotation(observed.machine.as_ref(), EXCLUDE).is_some()
        || is_past_drain(observed)
        || is_over(observed, timeout, since.as_deref())
        || matches!(observed.node, NodeState::Absent)
        || observed.node.found().is_some_and(|node| drain::is_unreachable(node))
}

/// Plans the wait for the volumes; `None` if none is left or nobody waits for them.
pub fn step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if is_skipped(observed) {
        return None;
    }
    start(&mut status(plan).wait_for_node_volume_detach_start_time, observed);
    let since = status(plan).wait_for_node_volume_detach_start_time.clone().unwrap_or_default();
    let end = end(spec(observed).node_volume_detach_timeout_seconds, Some(&since));
    let Some(node) = observed.node.found() else {
        come_again(plan, observed, end);
        return Some(Step::Waiting(REASON, OUT_OF_REACH.to_owned()));
    };
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let mut lines = vec![format!("Waiting for Node volumes to be detached (started at {since})")];
    match attached(observed, node) {
        Err(error) => {
            let message =
                format!("error waiting for node volumes detaching, Machine's node \"{name}\": {error}");
            plan.events.push(Event::warning("FailedWaitForVolumeDetach", message));
            lines.push(format!("* {error}"));
        }
        Ok(attached) if attached.is_empty() => {
            v1beta1::succeeded(plan, observed, "VolumeDetachSucceeded");
            if deletion(observed).wait_for_node_volume_detach_start_time.is_none() {
                let message = format!("success waiting for node volumes detaching Machine's node \"{name}\"");
                plan.events.push(Event::normal("NodeVolumesDetached", message));
            }
            return None;
        }
        Ok(attached) => lines.extend(attached),
    }
    come_again(plan, observed, end);
    Some(Step::Waiting(REASON, lines.join("\n")))
}

/// Returns the lines about volumes that are still attached. A volume counts if the Node's status or a
/// VolumeAttachment has it, unless it belongs to a Pod that the drain leaves alone.
fn attached(observed: &Observed, node: &Node) -> Result<Vec<String>, String> {
    let volumes = match &observed.volumes {
        OnDemand::Found(volumes) => volumes,
        OnDemand::Failed(error) => return Err(error.clone()),
        OnDemand::NotRead => return Err("the volumes of the Node are not known yet".to_owned()),
    };
    let ignored = match &observed.pods {
        OnDemand::Found(pods) => drain::claims_of_skipped(observed, node, pods)?,
        OnDemand::Failed(error) => return Err(error.clone()),
        OnDemand::NotRead => Vec::new(),
    };
    let mut in_status = names_in_status(node);
    let mut in_attachments: BTreeSet<&str> = volumes.attached.iter().map(String::as_str).collect();
    let (mut claims, mut unclaimed) = (BTreeSet::new(), BTreeSet::new());
    for volume in &volumes.persistent_volumes {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let is_attached = in_attachments.remove(name)
            | csi_volume_name(volume).is_some_and(|name| in_status.remove(name.as_str()));
        if !is_attached {
            continue;
        }
        match claim(volume) {
            Some(claim) if ignored.contains(&claim) => {}
            Some(claim) => drop(claims.insert(claim.to_string())),
            None => drop(unclaimed.insert(name)),
        }
    }
    let claims: BTreeSet<&str> = claims.iter().map(String::as_str).collect();
    let rows = [
        ("PersistentVolumeClaims", claims),
        ("PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim", unclaimed),
        ("Node with .status.volumesAttached entries not matching a PersistentVolume", in_status),
        (
            "VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume",
            in_attachments,
        ),
    ];
    let lines = rows.into_iter().filter(|(_, names)| !names.is_empty());
    Ok(lines.map(|(what, names)| format!("* {what}: {}", list(&names))).collect())
}

fn list(names: &BTreeSet<&str>) -> String {
    messages::names(&names.iter().copied().collect::<Vec<_>>(), NAMES)
}

fn names_in_status(node: &Node) -> BTreeSet<&str> {
    let attached = node.status.as_ref().and_then(|status| status.volumes_attached.as_ref());
    attached.into_iter().flatten().map(|volume| volume.name.as_str()).collect()
}

fn claim(volume: &PersistentVolume) -> Option<NamespacedName> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some(NamespacedName::new(claim.namespace.clone()?, claim.name.clone()?))
}

/// Returns the name by which a Node's status calls the volume of a CSI driver.
fn csi_volume_name(volume: &PersistentVolume) -> Option<String> {
    let csi = volume.spec.as_ref()?.csi.as_ref()?;
    Some(format!("kubernetes.io/csi/{}^{}", csi.driver, csi.volume_handle))
}

/// Returns whether a PersistentVolume is attached to the Node, or was when `volumes` was read.
pub fn is_attached(volume: &PersistentVolume, node: &Node, volumes: &NodeVolumes) -> bool {
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    volumes.attached.iter().any(|attached| attached == name)
        || csi_volume_name(volume).is_some_and(|name| names_in_status(node).contains(name.as_str()))
}

/// Returns whether the PersistentVolumes matter: something is attached to the Node.
pub fn has_any(node: &Node, volumes: &NodeVolumes) -> bool {
    !volumes.attached.is_empty() || !names_in_status(node).is_empty()
}
