//! Controllers of the firmware objects of hosts: HostFirmwareSettings with its FirmwareSchema, and HostFirmwareComponents.
//!
//! These controllers compare the objects with the machine. Only `host` changes the machine, since only it knows when the machine is not
//! in use.

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

/// Condition: whether the spec differs from the machine.
pub(crate) const CHANGE_DETECTED: &str = "ChangeDetected";
/// Condition: whether the spec can be applied.
pub(crate) const VALID: &str = "Valid";
/// The reason of a condition whose status is unknown because the BMC cannot be read.
const UNREADABLE: &str = "Unreadable";

/// Starts the controllers.
pub fn start(manager: &Manager, control: &Arc<dyn Control>) {
    settings::start(manager, control.clone());
    components::start(manager, control.clone());
}

/// Returns a wanted value in the form of the status.
pub(crate) fn as_text(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}

/// The answer of the BMC.
#[derive(Clone, Debug, PartialEq)]
enum Found<T> {
    /// The data of the BMC.
    Known(T),
    /// The BMC does not support the query; the message says why.
    Unsupported(String),
    /// The query failed; the message says why.
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

/// Returns why the spec cannot be applied, unless `was` has the same message.
fn new_objection<'a, K: HasConditions>(was: &K, object: &'a K) -> Option<&'a str> {
    let valid = object.condition(VALID).filter(|valid| valid.status == FALSE)?;
    let is_known = was.condition(VALID).is_some_and(|was| was.message == valid.message);
    (!is_known).then_some(valid.message.as_str())
}

/// Returns the time until the object is compared again: shorter while changes are wanted and not yet in force.
fn next_look(wants_changes: bool, object: &impl HasConditions) -> Duration {
    let is_changing = object.condition(CHANGE_DETECTED).is_some_and(|change| change.status != FALSE);
    if wants_changes && is_changing { limits::FIRMWARE_CHANGE } else { limits::FIRMWARE_POLL }
}
