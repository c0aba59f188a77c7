//! DevMachinePools: a DevMachine for each machine of a MachinePool. The rules are the same for all backends; what differs is a [`Backend`].

mod apply;
mod backend;
mod controller;
mod docker;
mod in_memory;
pub mod names;
mod observe;
pub mod observed;
pub mod plan;
mod scale;
mod status;

pub use backend::Backend;
pub use controller::start;
pub use docker::{DOCKER, image_of, node_image};
pub use in_memory::IN_MEMORY;
