//! The input of a plan for a BareMetalHost.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use agent_protocol::State;
use bmc::{Power, TaskState};
use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use schemas::metal3::{BareMetalHost, BareMetalHostStatus, DataImage, FirmwareUpdate, HardwareDetails};

use crate::control::Fault;
use crate::state::HostState;

/// The status of a host without a status, which is a new host.
static NEW: LazyLock<BareMetalHostStatus> = LazyLock::new(BareMetalHostStatus::default);

/// The data that are read before the plan is made.
pub struct Observed {
    /// The host.
    pub host: BareMetalHost,
    /// The current time.
    pub now: DateTime<Utc>,
    /// The means of switching the machine on and off.
    pub means: Means,
    /// The power state, or a fault of the BMC.
    pub power: Result<Power, Fault>,
    /// The machine's agent, if it ever had one.
    pub agent: Option<Agent>,
    /// `HardwareData.spec.hardware`.
    pub hardware_data: Option<HardwareDetails>,
    /// The host's DataImage, and the content of the machine's drive.
    pub drive: Option<Drive>,
    /// The wanted changes of the machine's firmware.
    pub firmware: Firmware,
    /// Whether too many other hosts are busy.
    pub is_full: bool,
    /// The problem with a Secret that the host refers to.
    pub data_problem: Option<String>,
    /// The boot image of the agent, if it is not booted over the network.
    pub boot_image: BootImage,
}

impl Observed {
    /// Returns the host's state.
    pub(super) fn state(&self) -> HostState {
        HostState::of(&self.host)
    }

    /// Returns the status that was read; an empty one for a new host.
    pub(super) fn was(&self) -> &BareMetalHostStatus {
        self.host.status.as_ref().unwrap_or(&NEW)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.host.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.host.metadata.deletion_timestamp.is_some()
    }

    /// Returns the time of the plan.
    pub(super) fn now(&self) -> String {
        rfc3339(self.now)
    }
}

/// The virtual drive of a machine.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The DataImage, with the wanted and the last inserted image.
    pub image: DataImage,
    /// The inserted image: an empty string if the BMC does not show its URL. If the BMC was not asked, this is the image in the
    /// DataImage's status.
    pub held: Result<Option<String>, Fault>,
}

/// The CD image that boots the agent, according to the host's PreprovisioningImage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum BootImage {
    /// The image has not been built yet.
    #[default]
    Awaited,
    /// The URL of the image.
    Ready(String),
    /// The image cannot be built; the message says why and how to fix it.
    Failed(String),
}

/// The firmware changes that a host's HostFirmwareSettings and HostFirmwareComponents request.
#[derive(Clone, Debug, Default)]
pub struct Firmware {
    /// The valid settings that are not in force.
    pub settings: BTreeMap<String, String>,
    /// The updates that have not been installed, in order.
    pub updates: Vec<FirmwareUpdate>,
    /// Whether an object has not been compared with the machine yet.
    pub is_unread: bool,
    /// The reason why an object cannot be compared with the machine.
    pub problem: Option<String>,
    /// Whether settings may be changed when a provisioned machine is restarted.
    pub sets_on_reboot: bool,
    /// Whether updates may be installed when a provisioned machine is restarted.
    pub installs_on_reboot: bool,
    /// The state of the BMC's task for which the host waits.
    pub task: Option<Result<TaskState, Fault>>,
}

impl Firmware {
    /// Returns the changes that are allowed while the machine is provisioned.
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
        // A machine in use must not stay off because its settings cannot be read.
        allowed.problem = None;
        allowed
    }

    /// Returns whether there is something to change, or to compare first.
    pub fn is_wanted(&self) -> bool {
        self.is_unread || self.problem.is_some() || !self.settings.is_empty() || !self.updates.is_empty()
    }
}

/// The means of switching a machine on and off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// By its BMC, with the credentials of this version of the Secret.
    Bmc {
        /// The name of the Secret.
        credentials: String,
        /// The `resourceVersion` of the Secret.
        version: String,
        /// Whether an image can be inserted as a CD.
        has_media: bool,
        /// Whether the agent is booted from such an image.
        boots_media: bool,
    },
    /// The BMC's address or credentials are invalid.
    Unusable {
        /// The problem, and how to fix it.
        message: String,
        /// Whether the Secret is missing, so that it may be created later.
        is_missing: bool,
    },
    /// A magic packet switches it on; a person or the agent switches it off.
    WakeOnLan,
    /// A person switches it on and off.
    Manual,
    /// The host has no BMC and no power annotation, so it is not managed.
    None,
}

impl Means {
    /// Returns whether the agent is booted from virtual media.
    pub fn boots_media(&self) -> bool {
        matches!(self, Self::Bmc { boots_media: true, .. })
    }

    /// Returns whether the machine has no BMC, so that only a person and the agent know its power state.
    pub fn is_by_hand(&self) -> bool {
        matches!(self, Self::WakeOnLan | Self::Manual)
    }
}

/// The state of a machine's agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// The name of the Agent object.
    pub name: String,
    /// The time since its last report.
    pub silent: Duration,
    /// Whether the agent no longer runs: it has been silent for too long, or has left with a restart.
    pub is_gone: bool,
    /// The identifier of its current or last instruction.
    pub id: String,
    /// The state of that instruction; `None` before the first report about it.
    pub state: Option<State>,
    /// Whether it has an instruction that writes to the disks, and has not reported its end.
    pub is_to_write: bool,
    /// The message of that instruction.
    pub message: String,
    /// The start time of that instruction.
    pub since: Option<DateTime<Utc>>,
    /// The inventory of the machine.
    pub hardware: Option<HardwareDetails>,
}
