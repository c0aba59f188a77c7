//! Power, boot device and virtual media of machines through their baseboard management controllers: Redfish and IPMI 2.0.
//!
//! [`connect`] creates the client for a [`BmcAddress`]; [`Bmc`] is the interface of all clients. Encoding and decoding is pure code;
//! sockets and random numbers come through [`Dependencies`]. Every write is read back, because some services report success without storing
//! the value. [`wake`] implements Wake-on-LAN for machines without a BMC.
//!
//! `cargo xtask test bmc` runs what holds it: tests of IPMI here, of Redfish in `tests/netboot`, and hosts of the simulation.

mod client;
mod connect;
pub mod credentials;
mod dependencies;
mod error;
pub mod ipmi;
mod limits;
mod model;
pub mod network;
pub mod reach;
pub mod redfish;
mod tls;
pub mod wake;

pub use client::Bmc;
pub use connect::connect;
pub use credentials::{Credentials, Verification};
pub use dependencies::Dependencies;
pub use error::{Error, Result};
pub use model::{
    Boot, BootDevice, BootMode, FirmwareComponent, Identity, Persistence, Power, PowerAction, Reset, Setting,
    SettingLimits, SettingType, Settings, Subscribed, Subscription, Task, TaskState,
};
pub use schemas::bmc_address::{BmcAddress, PrivilegeLevel};
