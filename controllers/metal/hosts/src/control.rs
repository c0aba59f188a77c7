//! The interface to machines: power, boot device, virtual media and firmware.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmc::Bmc;
use futures::future::BoxFuture;

/// The power state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Power {
    On,
    Off,
    Unknown,
}

/// The boot device of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The network, for the next start only.
    Network,
    /// The disk, for every start.
    Disk,
    /// The inserted CD image, for the next start only.
    Media,
}

/// A command for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Switch the machine on.
    PowerOn,
    /// Ask the operating system to shut down.
    SoftOff,
    /// Cut the power.
    HardOff,
    /// Select the boot device.
    Boot(Boot),
    /// Insert the image at this URL as a CD.
    Insert(String),
    /// Eject the CD.
    Eject,
    /// Change firmware settings for the machine's next start.
    Set(BTreeMap<String, String>),
    /// Restart the machine at once; start it if it is off.
    Reset,
}

/// The connection data of a machine's BMC.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    /// `spec.bmc.address`.
    pub address: String,
    /// The user name at the BMC.
    pub username: String,
    /// The password of that user.
    pub password: String,
    /// Whether the BMC's certificate is not verified.
    pub is_unverified: bool,
    /// `spec.bootMode`, which applies to boot device selections.
    pub boot_mode: String,
    /// `spec.bootMACAddress`.
    pub boot_mac_address: Option<String>,
}

/// The failure of an operation on a machine: the message names the call, the error, and how to fix it. It never contains a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The message for the host's status.
    pub message: String,
    /// Whether the BMC refused user and password.
    pub is_refused: bool,
}

/// The capabilities of a kind of BMC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether an image can be inserted as a CD.
    pub has_media: bool,
    /// Whether the machine boots its agent from such an image instead of the network.
    pub boots_media: bool,
}

/// The operations on machines through their BMCs.
pub trait Control: Send + Sync + 'static {
    /// Returns the capabilities of the kind of BMC at this address, or the problem with the address.
    fn capabilities(&self, address: &str) -> Result<Capabilities, String>;

    /// Reads the power state.
    fn power<'a>(&'a self, machine: &'a Connection) -> BoxFuture<'a, Result<Power, Fault>>;

    /// Carries out a command. Commands are idempotent.
    fn command<'a>(
        &'a self,
        machine: &'a Connection,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// Returns the machine's BMC, for operations that [`Command`] does not have.
    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault>;

    /// Wakes the machine with this MAC address by Wake-on-LAN.
    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}
