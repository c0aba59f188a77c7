//! What both kinds of consumers do with a host: release it, and pause it.

use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::{annotation, is_deleting};
use engine::{Change, Error, NamespacedName, Objects, Result};
use metal::metal3_handover::told;
use metal::names::{BOOTSTRAP, PAUSED, STATUS};
use metal::state::HostState;
use schemas::metal3::BareMetalHost;

use crate::names::NODE_REUSE;

/// Returns whether a change made the host free, which is news for everybody who waits for a host.
pub fn became_free(change: &Change<BareMetalHost>) -> bool {
    let is_free = |host: &Arc<BareMetalHost>| {
        host.spec.consumer_ref.is_none()
            && matches!(HostState::of(host), HostState::Available | HostState::Ready)
    };
    change.new.as_ref().is_some_and(is_free) && !change.old.as_ref().is_some_and(is_free)
}

/// Removes image and data from the host, which deprovisions it.
pub fn empty(host: &mut BareMetalHost) {
    let spec = &mut host.spec;
    (spec.image, spec.custom_deploy) = (None, None);
    (spec.user_data, spec.meta_data, spec.network_data) = (None, None, None);
    spec.online = spec.disable_power_off == Some(true);
}

/// Returns whether the host has been deprovisioned, or never was provisioned, so that it can be released.
pub fn is_empty(host: &BareMetalHost) -> bool {
    match HostState::of(host) {
        HostState::New
        | HostState::Unmanaged
        | HostState::Registering
        | HostState::MatchProfile
        | HostState::Inspecting
        | HostState::Ready
        | HostState::Available => true,
        HostState::ExternallyProvisioned => !host.status.as_ref().is_some_and(|status| status.powered_on),
        // Its own deletion cleans the disks, or leaves them as they are if nobody can.
        HostState::PoweringOff | HostState::Deleting => is_deleting(host),
        HostState::Preparing
        | HostState::Provisioning
        | HostState::Provisioned
        | HostState::Deprovisioning
        | HostState::Unknown => false,
    }
}

/// Releases the host. With `reuse`, it is kept for machines of this control plane or MachineDeployment.
pub fn release(host: &mut BareMetalHost, reuse: Option<&str>) {
    host.spec.consumer_ref = None;
    if let Some(annotations) = &mut host.metadata.annotations {
        annotations.remove(BOOTSTRAP);
    }
    let labels = host.metadata.labels.get_or_insert_default();
    labels.remove(CLUSTER_NAME);
    if let Some(reuse) = reuse {
        labels.insert(NODE_REUSE.to_owned(), reuse.to_owned());
    }
    if host.metadata.labels.as_ref().is_some_and(|labels| labels.is_empty()) {
        host.metadata.labels = None;
    }
}

/// Pauses the host with the value `by`, and stores its status in its annotation, so that another management cluster can take the host
/// over. Another pause stays.
///
/// # Errors
/// The status cannot be written as JSON, or the API server refused the write.
pub async fn pause(hosts: &Objects<BareMetalHost>, host: &Arc<BareMetalHost>, by: &str) -> Result<()> {
    let mut wanted = host.as_ref().clone();
    let name = NamespacedName::of(host.as_ref());
    set_pause(&mut wanted, by)
        .map_err(|error| Error::json(format!("the status of BareMetalHost {name}"), error))?;
    hosts.patch(host, &wanted, &[]).await.map(drop)
}

/// Adds the annotations of a pause, with the status in the form that Metal3 accepts, unless somebody else has paused the host.
pub fn set_pause(host: &mut BareMetalHost, by: &str) -> serde_json::Result<()> {
    if annotation(host, PAUSED).is_some() {
        return Ok(());
    }
    let mut status = told(&host.status.clone().unwrap_or_default());
    // The annotation would be too large with it, and HardwareData has the same content.
    status.hardware = None;
    let status = serde_json::to_string(&status)?;
    let annotations = host.metadata.annotations.get_or_insert_default();
    annotations.insert(PAUSED.to_owned(), by.to_owned());
    annotations.insert(STATUS.to_owned(), status);
    Ok(())
}

/// Removes the pause with the value `by`. The host's own controller removes the annotation with the status.
pub fn unpause(host: &mut BareMetalHost, by: &str) {
    if annotation(host, PAUSED) == Some(by)
        && let Some(annotations) = &mut host.metadata.annotations
    {
        annotations.remove(PAUSED);
    }
}
