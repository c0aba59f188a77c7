//! The protection of a host's disks by the annotation `metal.firstlight.dev/protect-disks`.
//!
//! While it exists, the host is given no instruction that writes to its disks, in no state and not for its deletion. An instruction that
//! is being carried out is ended.

use agent_protocol::{Action, State};

use super::plan::Planner;
use crate::names::{ErrorType, PROTECT_DISKS};
use crate::state::HostState;

/// The beginning of each message, by which the error is recognised and cleared.
const PROTECTED: &str = "the disks of this host are protected";

/// Returns whether the action writes to disks.
pub(super) fn writes(action: &Action) -> bool {
    match action {
        Action::Clean { .. } | Action::Deploy(_) => true,
        Action::Wait | Action::Inspect | Action::Restart | Action::PowerOff => false,
    }
}

impl Planner<'_> {
    /// Reports that the host's next step is prevented by its protection. Work that has begun is ended.
    pub(super) fn report_protection(&mut self) -> bool {
        if self.is_protected() {
            self.end_writing();
        }
        let Some(step) = self.step_that_writes().filter(|_| self.is_protected()) else {
            let was_held = self.was().error_message.starts_with(PROTECTED);
            if was_held {
                self.succeed();
            }
            return was_held;
        };
        let name = self.observed.host.metadata.name.as_deref().unwrap_or_default();
        let mut message = format!(
            "{PROTECTED}: {step}. To permit it, remove the annotation: kubectl annotate bmh {name} {PROTECT_DISKS}-"
        );
        if self.is_deleting() {
            message.push_str(
                ", or set spec.automatedCleaningMode to disabled, which leaves the disks as they are",
            );
        }
        if self.was().error_message != message {
            self.fail(ErrorType::Provisioning, message);
        }
        true
    }

    fn is_protected(&self) -> bool {
        self.annotation(PROTECT_DISKS).is_some()
    }

    /// Returns what is not done to the disks because of the protection; `None` if the state's next step writes to no disk.
    fn step_that_writes(&self) -> Option<&'static str> {
        if self.detachment_holds() {
            return None;
        }
        match self.state() {
            HostState::Available | HostState::Ready if self.after_rest() != Some(HostState::Provisioning) => {
                None
            }
            HostState::Available | HostState::Ready | HostState::Provisioning if self.is_live() => {
                self.cleans_before_live_image().then_some("they are not cleaned for a live image")
            }
            HostState::Available | HostState::Ready => Some("no image is written"),
            HostState::Provisioning if !self.writes_no_more("deploy/") => Some("no image is written"),
            HostState::Provisioned if self.is_cancelled() && self.cleans() => {
                Some("they are not cleaned for another image or for none")
            }
            HostState::Deprovisioning if self.cleans() && !self.writes_no_more("clean/") => {
                Some("they are not cleaned")
            }
            _ => None,
        }
    }

    /// Returns whether the agent has done the state's last step that writes to the disks. Its identifier begins with `last`.
    fn writes_no_more(&self, last: &str) -> bool {
        self.observed.agent.as_ref().is_some_and(|agent| {
            let is_done = agent.id.starts_with(last) && agent.state == Some(State::Done);
            is_done || agent.id.starts_with("restart/")
        })
    }

    /// Replaces an instruction that writes to the disks, even if the agent has not begun it or is silent. The agent ends its work before
    /// it carries out the next instruction.
    fn end_writing(&mut self) {
        if self.observed.agent.as_ref().is_some_and(|agent| agent.is_to_write) {
            self.event("DisksProtected", "The agent is told to stop writing to the disks");
            self.instruct(format!("protected/{}", self.now()), Action::Wait);
        }
    }
}
