//! Changes the firmware: before a machine becomes available, or, if HostUpdatePolicy allows it, before a machine in use is switched on
//! again.
//!
//! Each update is installed separately; then the settings are written, and the machine is started so that they come into force. An
//! annotation records the progress, so that after a restart of the process the host still waits for the BMC's task.

use bmc::BootDevice;
use bmc::TaskState;
use machinery::clock::parse_rfc3339;
use schemas::metal3::FirmwareUpdate;
use serde::{Deserialize, Serialize};

use crate::control::Command;
use crate::host::draft::Draft;
use crate::host::observed::{Firmware, Means, Observed};
use crate::limits;
use crate::names::{ErrorType, FIRMWARE, operational};
use crate::state::HostState;

/// The firmware change for which the host waits.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The start time, in RFC 3339.
    pub since: String,
    /// The update that is being installed; if `None`, the settings must come into force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<FirmwareUpdate>,
    /// The path of the BMC's task; empty if there is none.
    #[serde(default)]
    pub task: String,
    /// Whether the task waited for a start of the machine, and the machine was started.
    #[serde(default)]
    pub is_restarted: bool,
}

/// Parses the annotation.
pub(crate) fn progress(annotation: Option<&str>) -> Option<Progress> {
    serde_json::from_str(annotation?).ok()
}

/// Returns whether the state of a task means that it waits for the machine's next start (states of DMTF and iDRAC).
fn waits_for_start(state: &str) -> bool {
    matches!(state, "Pending" | "Scheduled")
}

/// Changes the firmware before the machine becomes available. Returns whether nothing is left to do.
pub(crate) fn prepare_firmware(observed: &Observed, draft: &mut Draft) -> bool {
    let wanted = observed.firmware.clone();
    change_firmware(observed, draft, &wanted, ErrorType::Preparation)
}

/// Changes the firmware before a machine in use is switched on. Returns whether it may be switched on.
pub(crate) fn service_firmware(observed: &Observed, draft: &mut Draft) -> bool {
    let wanted = observed.firmware.on_reboot();
    if firmware_progress(observed).is_none() && !wanted.is_wanted() {
        return true;
    }
    let is_done = change_firmware(observed, draft, &wanted, ErrorType::Servicing);
    if !is_done && draft.status().operational_status != operational::ERROR {
        draft.status().operational_status = operational::SERVICING.to_owned();
    }
    is_done
}

/// Returns whether leaving the state must wait for a running firmware update, because the next step would cut the machine's power.
/// A task that itself waits for a start of the machine is left to the BMC.
pub(crate) fn await_installation(observed: &Observed, draft: &mut Draft) -> bool {
    let leaves =
        observed.is_deleting() || (observed.state() == HostState::Provisioned && observed.is_cancelled());
    let reaches = matches!(observed.means, Means::Bmc { .. });
    let Some(Progress { update: Some(update), since, task, is_restarted }) = firmware_progress(observed)
    else {
        return false;
    };
    if !leaves || !reaches || observed.detachment_holds() {
        return false;
    }
    if let Some(Ok(TaskState::Running { message, .. })) = &observed.firmware.task
        && waits_for_start(message)
        && !is_restarted
    {
        draft.annotations().remove(FIRMWARE);
        return false;
    }
    let progress = Progress { update: Some(update.clone()), since, task, is_restarted };
    let is_used = observed.state().is_in_use();
    let error = if is_used { ErrorType::Servicing } else { ErrorType::Preparation };
    await_update(observed, draft, &update, progress, error);
    true
}

/// Returns whether no firmware change is in progress at a machine in use.
pub(crate) fn continue_service(observed: &Observed, draft: &mut Draft) -> bool {
    firmware_progress(observed).is_none() || service_firmware(observed, draft)
}

fn firmware_progress(observed: &Observed) -> Option<Progress> {
    progress(observed.annotation(FIRMWARE))
}

fn note_firmware(draft: &mut Draft, progress: &Progress) {
    let text = serde_json::to_string(progress).unwrap_or_default();
    draft.annotations().insert(FIRMWARE.to_owned(), text);
}

fn change_firmware(observed: &Observed, draft: &mut Draft, wanted: &Firmware, error: ErrorType) -> bool {
    match firmware_progress(observed) {
        None => begin_change(observed, draft, wanted, error),
        Some(Progress { update: None, since, .. }) => await_settings(observed, draft, wanted, &since, error),
        Some(Progress { update: Some(update), since, task, is_restarted }) => {
            let progress = Progress { update: Some(update.clone()), since, task, is_restarted };
            await_update(observed, draft, &update, progress, error);
            false
        }
    }
}

fn begin_change(observed: &Observed, draft: &mut Draft, wanted: &Firmware, error: ErrorType) -> bool {
    if let Some(problem) = &wanted.problem {
        draft.fail(error, problem.clone());
        return false;
    }
    if wanted.is_unread {
        draft.again_after(limits::FIRMWARE_CHANGE);
        return false;
    }
    let begun = Progress {
        since: observed.now(),
        update: wanted.updates.first().cloned(),
        task: String::new(),
        is_restarted: false,
    };
    if let Some(update) = &begun.update {
        draft.update(update.clone());
        note_firmware(draft, &begun);
        draft.again_after(limits::TASK_POLL);
        return false;
    }
    if wanted.settings.is_empty() {
        return true;
    }
    draft.command(Command::Set(wanted.settings.clone()));
    restart_for_firmware(draft, error);
    note_firmware(draft, &begun);
    draft.again_after(limits::FIRMWARE_CHANGE);
    false
}

/// Restarts the machine. A machine that is not in use boots from the network, and not the system that an earlier user left on its
/// disk.
fn restart_for_firmware(draft: &mut Draft, error: ErrorType) {
    if error == ErrorType::Preparation {
        draft.command(Command::Boot(BootDevice::Network));
    }
    draft.command(Command::Reset);
}

fn await_update(
    observed: &Observed,
    draft: &mut Draft,
    update: &FirmwareUpdate,
    mut progress: Progress,
    error: ErrorType,
) {
    let component = &update.component;
    match &observed.firmware.task {
        Some(Ok(TaskState::Done)) => {
            draft.annotations().remove(FIRMWARE);
            draft.event("FirmwareUpdated", format!("Installed firmware of {component}"));
            draft.note_installed(update.clone());
        }
        Some(Ok(TaskState::Failed { message })) => {
            draft.annotations().remove(FIRMWARE);
            draft.fail(error, format!("the BMC could not install the firmware of {component}: {message}"));
        }
        Some(Ok(TaskState::Running { message, .. }))
            if waits_for_start(message) && !progress.is_restarted =>
        {
            restart_for_firmware(draft, error);
            progress.is_restarted = true;
            note_firmware(draft, &progress);
            draft.again_after(limits::TASK_POLL);
        }
        // A BMC that installs its own firmware does not answer for some minutes.
        _ if has_waited(observed, &progress.since, limits::UPDATE) => {
            draft.annotations().remove(FIRMWARE);
            let minutes = limits::UPDATE.as_secs() / 60;
            draft.fail(
                error,
                format!("the BMC has not installed the firmware of {component} within {minutes} minutes: look at its job queue"),
            );
        }
        _ => draft.again_after(limits::TASK_POLL),
    }
}

fn await_settings(
    observed: &Observed,
    draft: &mut Draft,
    wanted: &Firmware,
    since: &str,
    error: ErrorType,
) -> bool {
    if !wanted.is_unread && wanted.problem.is_none() && wanted.settings.is_empty() {
        draft.annotations().remove(FIRMWARE);
        draft.event("FirmwareSettingsChanged", "Settings of the firmware are in force");
        return true;
    }
    if !has_waited(observed, since, limits::BOOT) {
        draft.again_after(limits::FIRMWARE_CHANGE);
        return false;
    }
    draft.annotations().remove(FIRMWARE);
    let names: Vec<&str> = wanted.settings.keys().map(String::as_str).collect();
    let minutes = limits::BOOT.as_secs() / 60;
    let message = format!(
        "the firmware has not taken over its settings within {minutes} minutes of the machine's start ({}): look at the BMC's job queue \
         and at the machine's console, or take them out of the HostFirmwareSettings",
        names.join(", "),
    );
    draft.fail(error, message);
    false
}

fn has_waited(observed: &Observed, since: &str, limit: std::time::Duration) -> bool {
    let since = parse_rfc3339(since).unwrap_or_default();
    (observed.now.signed_duration_since(since)).to_std().unwrap_or_default() >= limit
}
