//! Power, boot device and virtual media of machines through their baseboard management controller: Redfish and IPMI 2.0.
//!
//! [`connect`] makes the client that fits a [`Target`]; [`Bmc`] is what every client can be asked. What is sent and what answers mean
//! is pure code; sockets and random numbers come through [`Doors`]. Every write is read back, because services answer that they stored
//! what they did not store. [`wake`] holds Wake-on-LAN, for machines that have no such controller.

mod client;
mod connect;
mod credentials;
mod doors;
mod error;
pub mod ipmi;
mod limits;
mod model;
pub mod network;
mod redfish;
mod target;
mod tls;
pub mod wake;

pub use client::{Bmc, wait_for_power};
pub use connect::connect;
pub use credentials::{Credentials, Verification};
pub use doors::Doors;
pub use error::{Error, Result};
pub use model::{
    Boot, BootDevice, BootMode, FirmwareComponent, Identity, Persistence, Power, PowerAction, Reset, Setting,
    SettingLimits, SettingType, Settings, Subscribed, Subscription, Task, TaskState,
};
pub use target::{Privilege, Protocol, Target};
