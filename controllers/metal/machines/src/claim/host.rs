//! What a HostClaim writes into its host. Pure.

use engine::NamespacedName;
use schemas::metal3::{BareMetalHost, HostClaim};
use schemas::reboot::{self, OF_CLAIM, REBOOT};

use crate::consumer::ConsumerKind;
use crate::host;
use crate::names::PAUSED_BY_CLAIM;

/// Makes the claim the consumer of the host.
pub fn claim(host: &mut BareMetalHost, claim: &NamespacedName) {
    host.spec.consumer_ref = Some(ConsumerKind::Claim.reference(claim));
    clean(host);
}

/// Requires that the host's disks are cleaned before the first image and after each one, so that no tenant finds the partitions and file
/// systems of another. Other blocks keep their content, unless the owner of the host has annotated it with [`metal::names::ERASE`]. Metal3
/// cleans only after the claim: a disk whose image is removed from a claim before the claim is deleted would then be released as it is.
fn clean(host: &mut BareMetalHost) {
    host.spec.automated_cleaning_mode = Some("metadata".to_owned());
}

/// Writes image, deploy method and power into the host. As in Metal3, a host with an image keeps it until the claim has none.
///
/// # Errors
/// The reason why the host does not follow the claim. The rest is written.
pub(super) fn deploy(host: &mut BareMetalHost, claim: &HostClaim) -> Result<(), String> {
    clean(host);
    let (wanted, spec) = (&claim.spec, &mut host.spec);
    spec.custom_deploy.clone_from(&wanted.custom_deploy);
    spec.online = wanted.powered_on || spec.disable_power_off == Some(true);
    match (&wanted.image, &spec.image) {
        (None, _) => spec.image = None,
        (Some(image), None) => {
            let is_elsewhere = claim.metadata.namespace != host.metadata.namespace;
            if is_elsewhere && image.oci_auth_secret_name.is_some() {
                return Err("spec.image.ociAuthSecretName would name a Secret of the host's namespace: remove it, and use an image that \
                            needs no credentials"
                    .to_owned());
            }
            spec.image = Some(image.clone());
        }
        (Some(image), Some(present)) if image != present => {
            return Err(format!(
                "spec.image has changed, and the host keeps {}: remove spec.image, wait until the condition Provisioned is False, and \
                 set it again. All disks lose their partition tables and file systems meanwhile",
                present.url
            ));
        }
        (Some(_), Some(_)) => {}
    }
    if spec.online && !wanted.powered_on {
        return Err(
            "spec.poweredOn is false, but this host must not be switched off (disablePowerOff)".to_owned()
        );
    }
    Ok(())
}

/// Copies the reboot annotations of the claim to the host, and removes from the host those that the claim no longer has. The annotation
/// without a suffix is moved: it asks for one reboot.
///
/// # Errors
/// An annotation cannot be passed on, since the host could not be written with it. The others are.
pub(super) fn pass_reboots(host: &mut BareMetalHost, claim: &mut HostClaim) -> Result<(), String> {
    remove_reboots(host);
    let mut outcome = Ok(());
    for (key, value) in claim.metadata.annotations.iter().flatten() {
        match reboot::on_host(key) {
            Some(Ok(passed)) => {
                host.metadata.annotations.get_or_insert_default().insert(passed, value.clone());
            }
            Some(Err(problem)) => outcome = Err(format!("metadata.annotations[{key}]: {problem}")),
            None => {}
        }
    }
    if let Some(annotations) = &mut claim.metadata.annotations {
        annotations.remove(REBOOT);
    }
    outcome
}

fn remove_reboots(host: &mut BareMetalHost) {
    if let Some(annotations) = &mut host.metadata.annotations {
        annotations.retain(|key, _| !key.starts_with(OF_CLAIM));
    }
}

/// Removes everything of the claim from the host, which deprovisions and cleans it.
pub(super) fn empty(host: &mut BareMetalHost) {
    // A paused host would not be deprovisioned.
    host::unpause(host, PAUSED_BY_CLAIM);
    host::empty(host);
    remove_reboots(host);
    clean(host);
}
