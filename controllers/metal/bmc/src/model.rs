//! The requests and results of controllers, independent of the protocol.

use std::collections::BTreeMap;
use std::fmt;

/// The power state of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// The machine runs, or is still shutting down.
    On,
    /// The machine is off.
    Off,
    /// The controller does not know the state.
    Unknown,
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Unknown => "unknown",
        })
    }
}

/// The kind of a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// The operating system is asked to restart.
    Soft,
    /// The machine is reset at once.
    Hard,
}

/// An action on a machine's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerAction {
    /// Start the machine; no effect if it runs.
    On,
    /// Ask the operating system to shut down.
    SoftOff,
    /// Switch the machine off at once.
    HardOff,
    /// Restart the machine; start it if it is off.
    Reset(Reset),
    /// Raise a non-maskable interrupt, which makes an operating system write a dump.
    Interrupt,
}

impl PowerAction {
    /// Returns the power state after the action; `None` if the action does not change it.
    pub fn outcome(self) -> Option<Power> {
        match self {
            Self::On | Self::Reset(_) => Some(Power::On),
            Self::SoftOff | Self::HardOff => Some(Power::Off),
            Self::Interrupt => None,
        }
    }
}

impl fmt::Display for PowerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "power on",
            Self::SoftOff => "soft power off",
            Self::HardOff => "hard power off",
            Self::Reset(Reset::Soft) => "soft reset",
            Self::Reset(Reset::Hard) => "hard reset",
            Self::Interrupt => "non-maskable interrupt",
        })
    }
}

/// A boot device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootDevice {
    /// PXE.
    Network,
    /// UEFI HTTP boot, from this URL or from the one that DHCP gives.
    UefiHttp {
        /// The URL of the boot image; `None` leaves it to DHCP.
        url: Option<String>,
    },
    /// The first disk.
    Disk,
    /// The CD that [`crate::Bmc::insert_media`] inserted.
    VirtualMedia,
}

impl fmt::Display for BootDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "network (PXE)",
            Self::UefiHttp { .. } => "UEFI HTTP boot",
            Self::Disk => "disk",
            Self::VirtualMedia => "virtual media",
        })
    }
}

/// The duration of a boot device selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// For the next start only.
    Once,
    /// For every start.
    Always,
}

/// The boot mode of the firmware. Secure Boot is a separate setting: [`crate::Bmc::set_secure_boot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BootMode {
    /// BIOS, or UEFI's compatibility with it.
    Legacy,
    /// UEFI.
    Uefi,
}

impl fmt::Display for BootMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Uefi => "UEFI",
        })
    }
}

/// A boot device selection, as requested or as stored by a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The boot device.
    pub device: BootDevice,
    /// The duration of the selection.
    pub persistence: Persistence,
    /// The boot mode; `None` leaves it unchanged, or means that the controller does not report it.
    pub mode: Option<BootMode>,
}

/// The data of a controller that identify its machine. Missing fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The manufacturer.
    pub manufacturer: String,
    /// The product name.
    pub model: String,
    /// The serial number.
    pub serial: String,
    /// The system UUID of SMBIOS, in lower case.
    pub uuid: String,
    /// The MAC addresses of the machine's network interfaces, in lower case with colons.
    pub macs: Vec<String>,
}

/// The firmware of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirmwareComponent {
    /// `bios`, `bmc`, or `nic:` with the identifier of the adapter: the names of Metal3's HostFirmwareComponents.
    pub component: String,
    /// The installed version.
    pub version: String,
}

/// The value of a firmware setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// An integer.
    Number(i64),
    /// A text, or a value of an enumeration.
    Text(String),
    /// A boolean.
    Switch(bool),
}

/// The firmware settings of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The values in force.
    pub current: BTreeMap<String, Setting>,
    /// The values after the next start, where they differ.
    pub pending: BTreeMap<String, Setting>,
    /// The constraints of each setting, if the controller has an attribute registry.
    pub limits: BTreeMap<String, SettingLimits>,
}

/// The types of settings in Redfish's attribute registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// One of [`SettingLimits::allowed`].
    Enumeration,
    /// A text.
    String,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
    /// A text that cannot be read back.
    Password,
}

/// The constraints of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLimits {
    /// The type of the setting.
    pub kind: SettingType,
    /// The values of an enumeration.
    pub allowed: Vec<String>,
    /// The smallest number.
    pub lower: Option<i64>,
    /// The largest number.
    pub upper: Option<i64>,
    /// The smallest number of characters.
    pub min_length: Option<i64>,
    /// The largest number of characters.
    pub max_length: Option<i64>,
    /// Whether the setting cannot be changed.
    pub read_only: bool,
    /// Whether the value is unique to this machine.
    pub unique: bool,
}

/// Work that a controller continues after its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The path of the resource that shows the progress.
    pub path: String,
}

/// The state of a [`Task`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// The task is running.
    Running {
        /// The progress in percent, if known.
        percent: Option<u8>,
        /// The controller's message.
        message: String,
    },
    /// The task has succeeded.
    Done,
    /// The task has failed.
    Failed {
        /// The controller's message.
        message: String,
    },
}

/// A request for a controller's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The destination URL, with a path.
    pub destination: String,
    /// The context string, which is sent with each event.
    pub context: String,
    /// HTTP headers that are sent with each event; they may contain tokens.
    pub headers: BTreeMap<String, String>,
}

/// An existing event subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribed {
    /// The identifier at the controller.
    pub identifier: String,
    /// The destination URL.
    pub destination: String,
    /// The context string.
    pub context: String,
}
