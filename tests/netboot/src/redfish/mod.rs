//! A Redfish test service with configurable faults.
//!
//! [`Service`] serves one [`Machine`] like sushy-tools and real BMCs: entity tags, allowed values, tasks, and
//! the peculiarities of Dell, HPE and Supermicro ([`Behaviour`]). [`Order`]s make it fail: at which request,
//! how, and how often. [`Service::serve`] works over any stream, [`Service::listen`] on a port, [`Wire`]
//! inside of a test.

#![allow(clippy::unwrap_used, reason = "a part of tests, which may panic")]

mod answers;
mod machine;
mod orders;
mod resources;
mod serve;
mod service;
mod wire;
mod writes;

pub use machine::{InMemory, Machine, Start};
pub use orders::{Behaviour, Fault, Order};
pub use serve::Identity;
pub use service::Service;
pub use wire::Wire;
