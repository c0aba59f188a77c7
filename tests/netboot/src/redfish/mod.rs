//! A Redfish service that can be told to go wrong.
//!
//! [`Service`] answers for one [`Machine`], as sushy-tools and services of machines do: tags, offered values, tasks, and what is
//! particular about Dell, HPE and Supermicro ([`Behaviour`]). [`Order`]s make it fail: at which request, how, and how often.
//! [`Service::serve`] speaks over any stream, [`Service::listen`] at a port, [`Wire`] inside of a test.

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
