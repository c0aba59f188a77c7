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
use crate::host::observed::{Firmware, Means};
use crate::host::plan::Planner;
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
pub(in crate::host) fn progress(annotation: Option<&str>) -> Option<Progress> {
    serde_json::from_str(annotation?).ok()
}

/// Returns whether the state of a task means that it waits for the machine's next start (states of DMTF and iDRAC).
fn waits_for_start(state: &str) -> bool {
    matches!(state, "Pending" | "Scheduled")
}

impl Planner<'_> {
    /// Changes the firmware before the machine becomes available. Returns whether nothing is left to do.
    pub(in crate::host) fn prepare_firmware(&mut self) -> bool {
        let wanted = self.observed.firmware.clone();
        self.change_firmware(&wanted, ErrorType::Preparation)
    }

    /// Changes the firmware before a machine in use is switched on. Returns whether it may be switched on.
    pub(in crate::host) fn service_firmware(&mut self) -> bool {
        let wanted = self.observed.firmware.on_reboot();
        if self.firmware_progress().is_none() && !wanted.is_wanted() {
            return true;
        }
        let is_done = self.change_firmware(&wanted, ErrorType::Servicing);
        if !is_done && self.status().operational_status != operational::ERROR {
            self.status().operational_status = operational::SERVICING.to_owned();
        }
        is_done
    }

    /// Returns whether leaving the state must wait for a running firmware update, because the next step would cut the machine's power.
    /// A task that itself waits for a start of the machine is left to the BMC.
    pub(in crate::host) fn await_installation(&mut self) -> bool {
        let leaves = self.is_deleting() || (self.state() == HostState::Provisioned && self.is_cancelled());
        let reaches = matches!(self.observed.means, Means::Bmc { .. });
        let Some(Progress { update: Some(update), since, task, is_restarted }) = self.firmware_progress()
        else {
            return false;
        };
        if !leaves || !reaches || self.detachment_holds() {
            return false;
        }
        if let Some(Ok(TaskState::Running { message, .. })) = &self.observed.firmware.task
            && waits_for_start(message)
            && !is_restarted
        {
            self.annotations().remove(FIRMWARE);
            return false;
        }
        let progress = Progress { update: Some(update.clone()), since, task, is_restarted };
        let is_used = self.state().is_in_use();
        let error = if is_used { ErrorType::Servicing } else { ErrorType::Preparation };
        self.await_update(&update, progress, error);
        true
    }

    /// Returns whether no firmware change is in progress at a machine in use.
    pub(in crate::host) fn continue_service(&mut self) -> bool {
        self.firmware_progress().is_none() || self.service_firmware()
    }

    fn firmware_progress(&self) -> Option<Progress> {
        progress(self.annotation(FIRMWARE))
    }

    fn note_firmware(&mut self, progress: &Progress) {
        let text = serde_json::to_string(progress).unwrap_or_default();
        self.annotations().insert(FIRMWARE.to_owned(), text);
    }

    fn change_firmware(&mut self, wanted: &Firmware, error: ErrorType) -> bool {
        match self.firmware_progress() {
            None => self.begin_change(wanted, error),
            Some(Progress { update: None, since, .. }) => self.await_settings(wanted, &since, error),
            Some(Progress { update: Some(update), since, task, is_restarted }) => {
                let progress = Progress { update: Some(update.clone()), since, task, is_restarted };
                self.await_update(&update, progress, error);
                false
            }
        }
    }

    fn begin_change(&mut self, wanted: &Firmware, error: ErrorType) -> bool {
        if let Some(problem) = &wanted.problem {
            self.fail(error, problem.clone());
            return false;
        }
        if wanted.is_unread {
            self.again_after(limits::FIRMWARE_CHANGE);
            return false;
        }
        let begun = Progress {
            since: self.now(),
            update: wanted.updates.first().cloned(),
            task: String::new(),
            is_restarted: false,
        };
        if let Some(update) = &begun.update {
            self.plan.update = Some(update.clone());
            self.note_firmware(&begun);
            self.again_after(limits::TASK_POLL);
            return false;
        }
        if wanted.settings.is_empty() {
            return true;
        }
        self.plan.commands.push(Command::Set(wanted.settings.clone()));
        self.restart_for_firmware(error);
        self.note_firmware(&begun);
        self.again_after(limits::FIRMWARE_CHANGE);
        false
    }

    /// Restarts the machine. A machine that is not in use boots from the network, and not the system that an earlier user left on its
    /// disk.
    fn restart_for_firmware(&mut self, error: ErrorType) {
        if error == ErrorType::Preparation {
            self.plan.commands.push(Command::Boot(BootDevice::Network));
        }
        self.plan.commands.push(Command::Reset);
    }

    fn await_update(&mut self, update: &FirmwareUpdate, mut progress: Progress, error: ErrorType) {
        let component = &update.component;
        match &self.observed.firmware.task {
            Some(Ok(TaskState::Done)) => {
                self.annotations().remove(FIRMWARE);
                self.event("FirmwareUpdated", format!("Installed firmware of {component}"));
                self.plan.installed = Some(update.clone());
            }
            Some(Ok(TaskState::Failed { message })) => {
                self.annotations().remove(FIRMWARE);
                self.fail(error, format!("the BMC could not install the firmware of {component}: {message}"));
            }
            Some(Ok(TaskState::Running { message, .. }))
                if waits_for_start(message) && !progress.is_restarted =>
            {
                self.restart_for_firmware(error);
                progress.is_restarted = true;
                self.note_firmware(&progress);
                self.again_after(limits::TASK_POLL);
            }
            // A BMC that installs its own firmware does not answer for some minutes.
            _ if self.has_waited(&progress.since, limits::UPDATE) => {
                self.annotations().remove(FIRMWARE);
                let minutes = limits::UPDATE.as_secs() / 60;
                self.fail(
                    error,
                    format!("the BMC has not installed the firmware of {component} within {minutes} minutes: look at its job queue"),
                );
            }
            _ => self.again_after(limits::TASK_POLL),
        }
    }

    fn await_settings(&mut self, wanted: &Firmware, since: &str, error: ErrorType) -> bool {
        if !wanted.is_unread && wanted.problem.is_none() && wanted.settings.is_empty() {
            self.annotations().remove(FIRMWARE);
            self.event("FirmwareSettingsChanged", "Settings of the firmware are in force");
            return true;
        }
        if !self.has_waited(since, limits::BOOT) {
            self.again_after(limits::FIRMWARE_CHANGE);
            return false;
        }
        self.annotations().remove(FIRMWARE);
        let names: Vec<&str> = wanted.settings.keys().map(String::as_str).collect();
        let minutes = limits::BOOT.as_secs() / 60;
        let message = format!(
            "the firmware has not taken over its settings within {minutes} minutes of the machine's start ({}): look at the BMC's job queue \
             and at the machine's console, or take them out of the HostFirmwareSettings",
            names.join(", "),
        );
        self.fail(error, message);
        false
    }

    fn has_waited(&self, since: &str, limit: std::time::Duration) -> bool {
        let since = parse_rfc3339(since).unwrap_or_default();
        (self.observed.now.signed_duration_since(since)).to_std().unwrap_or_default() >= limit
    }
}
