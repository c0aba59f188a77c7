//! What stands beside a host for its firmware: HostFirmwareSettings with its FirmwareSchema, and HostFirmwareComponents.
//!
//! Here they are compared with the machine; `host` changes the machine, since only it knows when nobody uses it.

mod components;
mod rules;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use engine::Manager;
use engine::conditions::FALSE;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::HasConditions;

use crate::control::Control;
use crate::limits;

/// Whether something is asked for that the machine does not have.
pub(crate) const CHANGE_DETECTED: &str = "ChangeDetected";
/// Whether it can be done.
pub(crate) const VALID: &str = "Valid";
/// Reason of what nobody knows, since the BMC did not tell.
const UNREADABLE: &str = "Unreadable";

/// Starts the controllers.
pub fn start(manager: &Manager, control: &Arc<dyn Control>) {
    settings::start(manager, control.clone());
    components::start(manager, control.clone());
}

/// A wanted value as the status has it.
pub(crate) fn as_text(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}

/// What the BMC says.
#[derive(Clone, Debug, PartialEq)]
enum Found<T> {
    /// What it has.
    Known(T),
    /// It has none to offer.
    Unsupported(String),
    /// It did not tell.
    Unreadable(String),
}

impl<T> From<bmc::Result<T>> for Found<T> {
    fn from(answer: bmc::Result<T>) -> Self {
        match answer {
            Ok(known) => Self::Known(known),
            Err(error) if error.is_unsupported() => Self::Unsupported(error.to_string()),
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }
}

/// Why what is wanted can't be done, unless `was` said so already.
fn new_objection<'a, K: HasConditions>(was: &K, object: &'a K) -> Option<&'a str> {
    let valid = object.condition(VALID).filter(|valid| valid.status == FALSE)?;
    let is_known = was.condition(VALID).is_some_and(|was| was.message == valid.message);
    (!is_known).then_some(valid.message.as_str())
}

/// When to look again at an object that wants changes or not.
fn next_look(wants_changes: bool, object: &impl HasConditions) -> Duration {
    let is_changing = object.condition(CHANGE_DETECTED).is_some_and(|change| change.status != FALSE);
    if wants_changes && is_changing { limits::FIRMWARE_CHANGE } else { limits::FIRMWARE_POLL }
}
