//! Bare metal: BareMetalHost, what stands beside it (HardwareData, DataImage, firmware, subscriptions), and the machines that run the agent.
//!
//! A host is brought to where it should be by its BMC ([`control`], the door to machines) and by the agent that runs on it when it was
//! started over the network (`Agent` objects: what an agent is told is in their spec, what it says in their status).

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
