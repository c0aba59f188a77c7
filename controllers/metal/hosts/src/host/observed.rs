//! What a reconcile of a BareMetalHost knows.

use std::time::Duration;

use agent_protocol::State;
use bmc::TaskState;
use chrono::{DateTime, Utc};
use schemas::metal3::{BareMetalHost, DataImage, FirmwareUpdate, HardwareDetails};
use std::collections::BTreeMap;

use crate::control::{Fault, Power};

/// What was read before the plan is made.
pub struct Observed {
    /// The host.
    pub host: BareMetalHost,
    /// The time.
    pub now: DateTime<Utc>,
    /// How the machine is switched on and off.
    pub means: Means,
    /// What is known of its power; a fault of the BMC.
    pub power: Result<Power, Fault>,
    /// The machine's agent, when it ever had one.
    pub agent: Option<Agent>,
    /// `HardwareData.spec.hardware`.
    pub hardware_data: Option<HardwareDetails>,
    /// The host's DataImage, and what is in the machine's drive.
    pub drive: Option<Drive>,
    /// What is wanted of the machine's firmware.
    pub firmware: Firmware,
    /// Too many other hosts are busy.
    pub is_full: bool,
    /// A Secret that the host names and that is not as it must be.
    pub data_problem: Option<String>,
    /// What its agent is started from where that is no network.
    pub boot_image: BootImage,
}

/// The virtual drive of a machine.
#[derive(Clone, Debug)]
pub struct Drive {
    /// What is wanted to be in it, and was put into it last.
    pub image: DataImage,
    /// The image that is in it: an empty text where the BMC does not tell which. As far as its status knows when nobody looked.
    pub held: Result<Option<String>, Fault>,
}

/// The image of a CD that starts the agent, as the host's PreprovisioningImage has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum BootImage {
    /// Nobody has said yet what it is.
    #[default]
    Awaited,
    /// It is at this URL.
    Ready(String),
    /// There is none: why, and what to do.
    Failed(String),
}

/// What the objects beside a host want of its firmware.
#[derive(Clone, Debug, Default)]
pub struct Firmware {
    /// Settings that are valid and not in force.
    pub settings: BTreeMap<String, String>,
    /// What is to be installed, in this order, and was not.
    pub updates: Vec<FirmwareUpdate>,
    /// Something is wanted that nobody has compared with the machine yet.
    pub is_unread: bool,
    /// Why that can't be done.
    pub problem: Option<String>,
    /// Settings may change when a provisioned machine is restarted.
    pub sets_on_reboot: bool,
    /// Firmware may be installed when a provisioned machine is restarted.
    pub installs_on_reboot: bool,
    /// The BMC's task that the host waits for.
    pub task: Option<Result<TaskState, Fault>>,
}

impl Firmware {
    /// What may be done while the machine is provisioned.
    pub fn on_reboot(&self) -> Self {
        let mut allowed = self.clone();
        if !self.sets_on_reboot {
            allowed.settings.clear();
        }
        if !self.installs_on_reboot {
            allowed.updates.clear();
        }
        let is_allowed = self.sets_on_reboot || self.installs_on_reboot;
        allowed.is_unread &= is_allowed;
        // A machine in use is not kept off because nobody can read its settings.
        allowed.problem = None;
        allowed
    }

    /// Whether there is something to do, or somebody has to look whether there is.
    pub fn is_wanted(&self) -> bool {
        self.is_unread || self.problem.is_some() || !self.settings.is_empty() || !self.updates.is_empty()
    }
}

/// How a machine is switched on and off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// By its BMC, whose credentials are this version of this Secret.
    Bmc {
        /// Name of the Secret.
        credentials: String,
        /// Its resourceVersion.
        version: String,
        /// Whether an image can be inserted as a CD.
        has_media: bool,
        /// Whether the agent is started from such an image.
        boots_media: bool,
    },
    /// The BMC can't be used: what is wrong with its address or credentials.
    Unusable {
        /// What is wrong and what to do.
        message: String,
        /// The Secret is not there: it may come at any time.
        is_missing: bool,
    },
    /// A packet wakes it; a person, or the agent, switches it off.
    WakeOnLan,
    /// A person does it.
    Manual,
    /// Nobody asked for it to be managed.
    None,
}

impl Means {
    /// Whether the agent is started from virtual media.
    pub fn boots_media(&self) -> bool {
        matches!(self, Self::Bmc { boots_media: true, .. })
    }

    /// Without a BMC, nothing tells whether the power is on but a person and the agent.
    pub fn is_by_hand(&self) -> bool {
        matches!(self, Self::WakeOnLan | Self::Manual)
    }
}

/// What a machine's agent said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// Name of its object.
    pub name: String,
    /// How long ago it said something.
    pub silent: Duration,
    /// Whether that is too long: it is not there any more.
    pub is_gone: bool,
    /// The instruction that it works on or has done.
    pub id: String,
    /// How far it is with that; `None` before its first report.
    pub state: Option<State>,
    /// What it says of it.
    pub message: String,
    /// When it began with the instruction.
    pub since: Option<DateTime<Utc>>,
    /// What the machine has.
    pub hardware: Option<HardwareDetails>,
}
