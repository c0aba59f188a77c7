//! Bare metal: BareMetalHost with the objects that belong to it (HardwareData, DataImage, firmware, subscriptions), and the machines
//! that run the agent.
//!
//! A host is brought to its wanted state by its BMC ([`control`] is the interface to machines) and by the agent that runs on the
//! machine when it was booted by the server (`Agent` objects have instructions in their spec, and reports in their status).

pub mod bmcs;
mod connection;
pub mod control;
mod data_image;
mod firmware;
pub mod host;
mod identity;
pub mod instruction;
mod limits;
mod machines;
mod metal3_handover;
pub mod names;
pub mod network_data;
pub mod preprovisioning;
pub mod state;
mod subscription;
pub mod summary;

use std::sync::Arc;

use engine::Manager;

/// Starts the controllers.
pub fn start(manager: &Manager, control: Arc<dyn control::Control>) {
    host::start(manager, control.clone());
    machines::start(manager);
    metal3_handover::start(manager);
    data_image::start(manager, control.clone());
    firmware::start(manager, &control);
    subscription::start(manager, control);
}
