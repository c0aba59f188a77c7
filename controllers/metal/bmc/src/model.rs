//! What controllers are asked and what they answer, whatever they speak.

use std::collections::BTreeMap;
use std::fmt;

/// Whether a machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// It runs, if only until it has stopped.
    On,
    /// It does not.
    Off,
    /// The controller cannot say.
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

/// How a machine is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// The operating system is asked.
    Soft,
    /// At once.
    Hard,
}

/// What to do with a machine's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerAction {
    /// Start it; nothing happens to one that runs.
    On,
    /// Ask its operating system to stop.
    SoftOff,
    /// Stop it at once.
    HardOff,
    /// Start it again. A machine that is off is started.
    Reset(Reset),
    /// Raise a non-maskable interrupt, which makes an operating system write a dump.
    Interrupt,
}

impl PowerAction {
    /// The power that a machine has when the action has been done; `None` where it stays as it was.
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

/// Where a machine starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootDevice {
    /// PXE.
    Network,
    /// UEFI HTTP boot, from this address or from the one that DHCP gives.
    UefiHttp {
        /// What to boot; `None` leaves it to DHCP.
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

/// How long a boot device holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// For the next start only.
    Once,
    /// For every start.
    Always,
}

/// How firmware starts an operating system. Secure Boot is a setting beside it: [`crate::Bmc::set_secure_boot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A boot device as it is asked for, or as a controller has stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Where from.
    pub device: BootDevice,
    /// For how long.
    pub persistence: Persistence,
    /// In which mode; `None` leaves it as it is, or says that the controller does not tell.
    pub mode: Option<BootMode>,
}

/// What a controller knows about its machine. Fields that it does not tell are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Who made it.
    pub manufacturer: String,
    /// Which product it is.
    pub model: String,
    /// Its serial number.
    pub serial: String,
    /// The system UUID as SMBIOS has it, in lower case.
    pub uuid: String,
    /// Addresses of its network cards, in lower case with colons.
    pub macs: Vec<String>,
}

/// What is installed in one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirmwareComponent {
    /// `bios`, `bmc`, or `nic:` with the identifier of the adapter: the names of Metal3's HostFirmwareComponents.
    pub component: String,
    /// Its version.
    pub version: String,
}

/// The value of a setting of the firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A whole number.
    Number(i64),
    /// A text, or one of an enumeration.
    Text(String),
    /// Yes or no.
    Switch(bool),
}

/// Settings of the firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is in force.
    pub current: BTreeMap<String, Setting>,
    /// What the next start brings, where it differs.
    pub pending: BTreeMap<String, Setting>,
    /// What each may be, as far as the controller's attribute registry says.
    pub limits: BTreeMap<String, SettingLimits>,
}

/// The types that Redfish's attribute registry knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// One of [`SettingLimits::allowed`].
    Enumeration,
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// A text that is never read back.
    Password,
}

/// What a setting may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLimits {
    /// Its type.
    pub kind: SettingType,
    /// The values of an enumeration.
    pub allowed: Vec<String>,
    /// The least number.
    pub lower: Option<i64>,
    /// The greatest number.
    pub upper: Option<i64>,
    /// The least number of characters.
    pub min_length: Option<i64>,
    /// The greatest number of characters.
    pub max_length: Option<i64>,
    /// It cannot be set.
    pub read_only: bool,
    /// No other machine has this value.
    pub unique: bool,
}

/// Work that a controller goes on with after its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The path that tells how it goes on.
    pub path: String,
}

/// How a [`Task`] is getting on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// It goes on.
    Running {
        /// How much is done.
        percent: Option<u8>,
        /// The controller's words.
        message: String,
    },
    /// It has ended well.
    Done,
    /// It has failed.
    Failed {
        /// The controller's words.
        message: String,
    },
}

/// Where a controller sends its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Where to; with a path.
    pub destination: String,
    /// What it sends along.
    pub context: String,
    /// Headers that it sends along, which may hold tokens.
    pub headers: BTreeMap<String, String>,
}

/// A subscription that a controller has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribed {
    /// What the controller calls it.
    pub identifier: String,
    /// Where events are sent.
    pub destination: String,
    /// What is sent along.
    pub context: String,
}
