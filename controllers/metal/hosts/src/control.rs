//! The door to machines: power, boot device, virtual media and firmware.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmc::Bmc;
use futures::future::BoxFuture;

/// What is known of a machine's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Power {
    On,
    Off,
    Unknown,
}

/// Where a machine is to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The network, once.
    Network,
    /// The disk, from now on.
    Disk,
    /// The image that was inserted as a CD, once.
    Media,
}

/// What is done to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Switch it on.
    PowerOn,
    /// Ask it to switch itself off.
    SoftOff,
    /// Cut its power.
    HardOff,
    /// Choose where it starts from.
    Boot(Boot),
    /// Insert the image at this URL as a CD.
    Insert(String),
    /// Take the CD out.
    Eject,
    /// Change settings of the firmware, with the machine's next start.
    Set(BTreeMap<String, String>),
    /// Restart it at once; one that is off is started.
    Reset,
}

/// How a machine's BMC is reached.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    /// `spec.bmc.address`.
    pub address: String,
    /// User of the BMC.
    pub username: String,
    /// Their password.
    pub password: String,
    /// Whether the certificate is not checked.
    pub is_unverified: bool,
    /// `spec.bootMode`: how overrides of the boot device are meant.
    pub boot_mode: String,
    /// `spec.bootMACAddress`.
    pub boot_mac_address: Option<String>,
}

/// Why something could not be done to a machine: which call failed, how, and what to do. Never holds a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// For the host's status.
    pub message: String,
    /// The BMC did not accept user and password.
    pub is_refused: bool,
}

/// What a kind of BMC can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// An image can be inserted as a CD.
    pub has_media: bool,
    /// The machine starts its agent from such an image, not from the network.
    pub boots_media: bool,
}

/// Machines, by their BMC.
pub trait Control: Send + Sync + 'static {
    /// What the kind of BMC at this address can do; what is wrong with the address otherwise.
    fn capabilities(&self, address: &str) -> Result<Capabilities, String>;

    /// Reads the power.
    fn power<'a>(&'a self, machine: &'a Connection) -> BoxFuture<'a, Result<Power, Fault>>;

    /// Does something. Doing it again is harmless.
    fn command<'a>(
        &'a self,
        machine: &'a Connection,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// The machine's BMC, for all that a [`Command`] has no word for.
    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault>;

    /// Wakes the machine with this MAC address over the network.
    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}
