//! Provisioning: clean, write the image, boot it; or boot a live image.

use std::time::Duration;

use agent_protocol::{Action, Deployment, Erase, Image, State};
use bmc::{BootDevice, Power};

use crate::control::Command;
use crate::host::draft::Draft;
use crate::host::observed::{Means, Observed};
use crate::host::power;
use crate::instruction;
use crate::limits;
use crate::names::ErrorType;
use crate::state::HostState;

/// The deploy step of Ironic's agent that writes an image. This agent does the same without a deploy step.
const WRITE_IMAGE: &str = "write_image";

pub(crate) fn provision(observed: &Observed, draft: &mut Draft) {
    if observed.was().error_type.is_some() || is_cancelled_before_the_end(observed) {
        draft.enter(HostState::Deprovisioning);
        return;
    }
    if let Some(problem) = provisioning_problem(observed) {
        draft.fail(ErrorType::Provisioning, problem);
        return;
    }
    if !observed.is_live() {
        write_image(observed, draft);
    } else if observed.cleans_before_live_image() {
        clean_before_live_image(observed, draft);
    } else {
        start_live_image(observed, draft);
    }
}

/// Returns why the request cannot be provisioned. Checked before anything is done to the machine.
pub(crate) fn provisioning_problem(observed: &Observed) -> Option<String> {
    let spec = &observed.host.spec;
    let image = spec.image.as_ref().filter(|image| !image.url.is_empty());
    if let Some(deploy) = &spec.custom_deploy {
        let method = deploy.method.as_str();
        if method != WRITE_IMAGE {
            return Some(format!(
                "spec.customDeploy.method {method:?} is a deploy step of another ramdisk, which this agent does not have: use \
                 {WRITE_IMAGE:?} with spec.image, or remove customDeploy and set spec.image"
            ));
        }
        if image.is_none() {
            return Some(format!("spec.customDeploy.method {WRITE_IMAGE:?} writes spec.image: set it"));
        }
    }
    if observed.is_live() && !matches!(observed.means, Means::Bmc { has_media: true, .. }) {
        let message = "spec.image.format is live-iso, which needs a BMC with virtual media: use an address of redfish-virtualmedia:// or its kin";
        return Some(message.to_owned());
    }
    observed.data_problem.clone()
}

/// Returns whether the image was removed from the spec while it is being written.
fn is_cancelled_before_the_end(observed: &Observed) -> bool {
    let wanted = observed.host.spec.image.as_ref().is_some_and(|image| !image.url.is_empty());
    !wanted && observed.host.spec.custom_deploy.is_none()
}

fn write_image(observed: &Observed, draft: &mut Draft) {
    let begun = observed.started(|history| history.provision.as_ref());
    let (clean, deploy, restart) =
        (format!("clean/{begun}"), format!("deploy/{begun}"), instruction::restart(&begun));
    // Once the image has been written, the machine restarts and its agent ends.
    if observed.agent.as_ref().is_some_and(|agent| agent.id == restart) {
        await_restart(observed, draft);
        return;
    }
    if !power::ensure_agent(observed, draft, ErrorType::Provisioning) {
        return;
    }
    let Some(agent) = observed.agent.as_ref() else { return };
    let cleans = observed.cleaning_is_enabled();
    match (agent.id == clean, agent.id == deploy, agent.state) {
        (true, _, Some(State::Failed)) | (_, true, Some(State::Failed)) => {
            let message = agent.message.clone();
            draft.fail(ErrorType::Provisioning, message);
        }
        (_, true, Some(State::Done)) => {
            draft.command(Command::Boot(BootDevice::Disk));
            draft.instruct(restart, Action::Restart);
        }
        (true, _, Some(State::Done)) => begin_deploying(observed, draft, deploy),
        (true, _, _) | (_, true, _) => draft.again_after(limits::SILENCE),
        _ if cleans => {
            draft.drop_reboots();
            draft.instruct(clean, Action::Clean { erase: Erase::Metadata });
        }
        _ => {
            draft.drop_reboots();
            begin_deploying(observed, draft, deploy);
        }
    }
}

fn begin_deploying(observed: &Observed, draft: &mut Draft, id: String) {
    let hints = observed.was().provisioning.root_device_hints.clone().unwrap_or_default();
    let Some(root_device_hints) = instruction::hints(&hints) else {
        let message = "spec.rootDeviceHints.minSizeGigabytes is below zero: correct it";
        draft.fail(ErrorType::Provisioning, message);
        return;
    };
    let image = observed.host.spec.image.clone().unwrap_or_default();
    let image = Image {
        url: image.url,
        checksum: image.checksum.unwrap_or_default(),
        checksum_type: image.checksum_type.unwrap_or_default(),
        format: image.format.unwrap_or_default(),
    };
    // Every host has Metal3's metadata.
    let deployment = Deployment { image, root_device_hints, config_drive: true };
    draft.instruct(id, Action::Deploy(Box::new(deployment)));
}

/// Waits for the agent to restart the machine; if it hangs, the BMC does it.
fn await_restart(observed: &Observed, draft: &mut Draft) {
    let Some(agent) = observed.agent.as_ref() else { return };
    let since = agent.since.unwrap_or(observed.now);
    let waited = (observed.now - since).to_std().unwrap_or_default();
    if agent.state == Some(State::Done) || agent.is_gone {
        finish_provisioning(observed, draft);
    } else if waited >= limits::RESTART && !observed.means.is_by_hand() {
        draft.command(if observed.power == Ok(Power::Off) { Command::PowerOn } else { Command::HardOff });
        if observed.power == Ok(Power::Off) {
            finish_provisioning(observed, draft);
        }
    } else {
        draft.again_after(limits::RESTART.saturating_sub(waited).max(Duration::from_secs(1)));
    }
}

fn finish_provisioning(observed: &Observed, draft: &mut Draft) {
    let (image, deploy, now) =
        (observed.host.spec.image.clone(), observed.host.spec.custom_deploy.clone(), observed.now());
    let status = draft.status();
    status.provisioning.image = image;
    status.provisioning.custom_deploy = deploy;
    if let Some(provision) = &mut status.operation_history.get_or_insert_default().provision {
        provision.end = Some(now);
    }
    draft.event("ProvisioningComplete", "Image provisioning completed");
    draft.succeed();
    draft.enter(HostState::Provisioned);
}

fn clean_before_live_image(observed: &Observed, draft: &mut Draft) {
    if !power::ensure_agent(observed, draft, ErrorType::Provisioning) {
        return;
    }
    let clean = format!("clean/{}", observed.started(|history| history.provision.as_ref()));
    let Some(agent) = observed.agent.as_ref() else { return };
    match agent.state {
        _ if agent.id != clean => {
            draft.drop_reboots();
            draft.instruct(clean, Action::Clean { erase: Erase::Metadata });
        }
        Some(State::Failed) => draft.fail(ErrorType::Provisioning, agent.message.clone()),
        _ => draft.again_after(limits::SILENCE),
    }
}

/// Boots a live image from a virtual CD. firstlight writes nothing to the disks; the system of the image may.
fn start_live_image(observed: &Observed, draft: &mut Draft) {
    match observed.power {
        Err(_) => power::report_power_fault(observed, draft),
        Ok(Power::On) => {
            draft.command(Command::HardOff);
            draft.again_after(limits::POWER_CHANGE);
        }
        Ok(_) => {
            let url = observed.host.spec.image.as_ref().map(|image| image.url.clone()).unwrap_or_default();
            draft.commands([Command::Insert(url), Command::Boot(BootDevice::VirtualMedia), Command::PowerOn]);
            finish_provisioning(observed, draft);
        }
    }
}
