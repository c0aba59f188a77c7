//! What a Metal3Machine writes into its host (`contract/metal3`, §2.2 and §2.3). Pure.

use engine::NamespacedName;
use engine::names::CLUSTER_NAME;
use engine::object::{annotation, is_deleting};
use metal::metal3_handover::told;
use metal::names::{BOOTSTRAP, PAUSED, PAUSED_BY_PROVIDER, STATUS};
use metal::state::HostState;
use schemas::infrastructure::Metal3MachineSpec;
use schemas::meta::ObjectReference;
use schemas::metal3::{BareMetalHost, CustomDeploy, Image, SecretReference};

use crate::names::{GROUP, NODE_REUSE};

/// The Secrets with the data of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Secrets {
    /// The bootstrap data.
    pub user_data: Option<SecretReference>,
    /// The metadata.
    pub meta_data: Option<SecretReference>,
    /// The network configuration.
    pub network_data: Option<SecretReference>,
}

/// Makes `machine` of `cluster` the consumer of the host.
pub fn claim(host: &mut BareMetalHost, machine: &NamespacedName, cluster: &str) {
    host.spec.consumer_ref = Some(ObjectReference {
        api_version: Some(format!("{GROUP}/v1beta2")),
        kind: Some("Metal3Machine".to_owned()),
        name: Some(machine.name.clone()),
        namespace: Some(machine.namespace.clone()),
        ..ObjectReference::default()
    });
    let labels = host.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAME.to_owned(), cluster.to_owned());
    labels.remove(NODE_REUSE);
}

/// Writes image and data into the host, which provisions it. They are written once: a host with an image keeps it.
pub fn deploy(host: &mut BareMetalHost, machine: &Metal3MachineSpec, secrets: &Secrets) {
    if host.spec.image.is_none() && host.spec.custom_deploy.is_none() {
        host.spec.image = machine.image.as_ref().map(|image| Image {
            url: image.url.clone(),
            checksum: Some(image.checksum.clone()).filter(|checksum| !checksum.is_empty()),
            checksum_type: image.checksum_type.clone(),
            format: image.disk_format.clone(),
            oci_auth_secret_name: None,
        });
        host.spec.custom_deploy =
            machine.custom_deploy.as_ref().map(|deploy| CustomDeploy { method: deploy.method.clone() });
        host.spec.user_data.clone_from(&secrets.user_data);
        host.spec.meta_data.clone_from(&secrets.meta_data);
        host.spec.network_data.clone_from(&secrets.network_data);
    }
    keep(host, machine);
}

/// Writes the fields that follow the machine as long as it exists.
pub fn keep(host: &mut BareMetalHost, machine: &Metal3MachineSpec) {
    if let Some(mode) = &machine.automated_cleaning_mode {
        host.spec.automated_cleaning_mode = Some(mode.clone());
    }
    host.spec.online = true;
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
        // Its own deletion cleans the disk, or leaves it as it is if nobody can.
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
    unpause(host);
}

/// Pauses the host, and stores its status in its annotation, so that another management cluster can take the host over. Another pause
/// stays.
///
/// # Errors
/// The status cannot be written as JSON.
pub fn pause(host: &mut BareMetalHost) -> serde_json::Result<()> {
    if annotation(host, PAUSED).is_some() {
        return Ok(());
    }
    let mut status = told(&host.status.clone().unwrap_or_default());
    // The annotation would be too large with it, and HardwareData has the same content.
    status.hardware = None;
    let status = serde_json::to_string(&status)?;
    let annotations = host.metadata.annotations.get_or_insert_default();
    annotations.insert(PAUSED.to_owned(), PAUSED_BY_PROVIDER.to_owned());
    annotations.insert(STATUS.to_owned(), status);
    Ok(())
}

/// Removes the pause that this provider has set. The host's own controller removes the annotation with the status.
pub fn unpause(host: &mut BareMetalHost) {
    if annotation(host, PAUSED) == Some(PAUSED_BY_PROVIDER)
        && let Some(annotations) = &mut host.metadata.annotations
    {
        annotations.remove(PAUSED);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(annotations: Value, status: Value) -> BareMetalHost {
        serde_json::from_value(
            json!({"metadata": {"annotations": annotations}, "spec": {}, "status": status}),
        )
        .unwrap()
    }

    #[test]
    fn a_paused_host_has_a_status_that_metal3_accepts() {
        let status = json!({
            "operationalStatus": "servicing", "errorType": "servicing error", "errorMessage": "no answer",
            "provisioning": {"state": "provisioned"}, "hardware": {"hostname": "h"},
        });
        let mut paused = host(json!({}), status);
        pause(&mut paused).unwrap();
        assert_eq!(annotation(&paused, PAUSED), Some(PAUSED_BY_PROVIDER));
        let told: Value = serde_json::from_str(annotation(&paused, STATUS).unwrap()).unwrap();
        assert_eq!((&told["operationalStatus"], &told["errorType"]), (&json!("OK"), &Value::Null));
        assert_eq!(
            (&told["provisioning"]["state"], &told["hardware"]),
            (&json!("provisioned"), &Value::Null)
        );
        unpause(&mut paused);
        assert_eq!(annotation(&paused, PAUSED), None);
    }

    #[test]
    fn the_pause_of_somebody_else_stays() {
        let mut paused = host(json!({PAUSED: "me"}), json!({}));
        pause(&mut paused).unwrap();
        unpause(&mut paused);
        assert_eq!((annotation(&paused, PAUSED), annotation(&paused, STATUS)), (Some("me"), None));
    }
}
