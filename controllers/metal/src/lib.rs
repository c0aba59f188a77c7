//! Bare metal: BareMetalHost, HardwareData and DataImage, and the machines that run the agent.
//!
//! A host is brought to where it should be by its BMC ([`control`], the door to machines) and by the agent that runs on it when it was
//! started over the network (`Agent` objects: what an agent is told is in their spec, what it says in their status).

pub mod bmcs;
pub mod control;
pub mod host;
pub mod instruction;
pub mod limits;
pub mod machines;
pub mod names;

use std::sync::Arc;

use engine::Manager;

/// Starts the controllers.
pub fn start(manager: &Manager, control: Arc<dyn control::Control>) {
    host::start(manager, control);
    machines::start(manager);
}
