//! The protection of a host's disks by the annotation `metal.firstlight.dev/protect-disks`.
//!
//! While it exists, the host is given no instruction that writes to its disks, in no state and not for its deletion. An instruction that
//! is being carried out is ended.

use agent_protocol::{Action, State};

use super::draft::Draft;
use super::observed::Observed;
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

/// Reports that the host's next step is prevented by its protection. Work that has begun is ended.
pub(super) fn report_protection(observed: &Observed, draft: &mut Draft) -> bool {
    if is_protected(observed) {
        end_writing(observed, draft);
    }
    let Some(step) = step_that_writes(observed).filter(|_| is_protected(observed)) else {
        let was_held = observed.was().error_message.starts_with(PROTECTED);
        if was_held {
            draft.succeed();
        }
        return was_held;
    };
    let name = observed.host.metadata.name.as_deref().unwrap_or_default();
    let mut message = format!(
        "{PROTECTED}: {step}. To permit it, remove the annotation: kubectl annotate bmh {name} {PROTECT_DISKS}-"
    );
    if observed.is_deleting() {
        message
            .push_str(", or set spec.automatedCleaningMode to disabled, which leaves the disks as they are");
    }
    if observed.was().error_message != message {
        draft.fail(ErrorType::Provisioning, message);
    }
    true
}

fn is_protected(observed: &Observed) -> bool {
    observed.annotation(PROTECT_DISKS).is_some()
}

/// Returns what is not done to the disks because of the protection; `None` if the state's next step writes to no disk.
fn step_that_writes(observed: &Observed) -> Option<&'static str> {
    if observed.detachment_holds() {
        return None;
    }
    match observed.state() {
        HostState::Available | HostState::Ready if observed.after_rest() != Some(HostState::Provisioning) => {
            None
        }
        HostState::Available | HostState::Ready | HostState::Provisioning if observed.is_live() => {
            observed.cleans_before_live_image().then_some("they are not cleaned for a live image")
        }
        HostState::Available | HostState::Ready => Some("no image is written"),
        HostState::Provisioning if !writes_no_more(observed, "deploy/") => Some("no image is written"),
        HostState::Provisioned if observed.is_cancelled() && observed.cleans() => {
            Some("they are not cleaned for another image or for none")
        }
        HostState::Deprovisioning if observed.cleans() && !writes_no_more(observed, "clean/") => {
            Some("they are not cleaned")
        }
        _ => None,
    }
}

/// Returns whether the agent has done the state's last step that writes to the disks. Its identifier begins with `last`.
fn writes_no_more(observed: &Observed, last: &str) -> bool {
    observed.agent.as_ref().is_some_and(|agent| {
        let is_done = agent.id.starts_with(last) && agent.state == Some(State::Done);
        is_done || agent.id.starts_with("restart/")
    })
}

/// Replaces an instruction that writes to the disks, even if the agent has not begun it or is silent. The agent ends its work before
/// it carries out the next instruction.
fn end_writing(observed: &Observed, draft: &mut Draft) {
    if observed.agent.as_ref().is_some_and(|agent| agent.is_to_write) {
        draft.event("DisksProtected", "The agent is told to stop writing to the disks");
        draft.instruct(format!("protected/{}", observed.now()), Action::Wait);
    }
}
