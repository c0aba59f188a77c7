//! Controllers of the firmware objects of hosts: HostFirmwareSettings with its FirmwareSchema, and HostFirmwareComponents.
//!
//! These controllers compare the objects with the machine. Only `host` changes the machine, since only it knows when the machine is not
//! in use.

pub mod comparison;
pub mod components;
pub mod rules;
pub mod settings;

use std::sync::Arc;

use engine::Manager;

pub(crate) use comparison::{CHANGE_DETECTED, VALID, as_text};

use crate::control::Control;

/// Starts the controllers.
pub fn start(manager: &Manager, control: &Arc<dyn Control>) {
    settings::start(manager, control.clone());
    components::start(manager, control.clone());
}
