//! What stands beside a host for its firmware: HostFirmwareSettings with its FirmwareSchema, and HostFirmwareComponents.
//!
//! Here they are compared with the machine; `host` changes the machine, since only it knows when nobody uses it.

mod components;
pub mod settings;

use std::sync::Arc;
use std::time::Duration;

use engine::Manager;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

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

/// When to look again.
fn next_look(is_changing: bool) -> Duration {
    if is_changing { limits::FIRMWARE_CHANGE } else { limits::FIRMWARE_POLL }
}
