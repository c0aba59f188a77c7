//! The meaning of the provisioning state of a BareMetalHost: what its machine boots, whether it may be restarted, and the next state on
//! deletion. No other module decides this. The work of each state is in `host::states`, and `host::plan` selects it.

use engine::object::annotation;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;

use crate::instruction::is_restart_of;
use crate::names::{DETACHED, PAUSED, POWER};

/// The values of `status.provisioning.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Metal3's names say it")]
pub enum HostState {
    /// The empty text: the controller has not acted yet.
    New,
    Unmanaged,
    Registering,
    Inspecting,
    MatchProfile,
    Preparing,
    Ready,
    Available,
    Provisioning,
    Provisioned,
    ExternallyProvisioned,
    Deprovisioning,
    PoweringOff,
    Deleting,
    /// A text that Metal3 does not define. It is only read, never written.
    Unknown,
}

/// The program that a machine starts when it boots over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkBoot {
    /// The agent.
    Agent,
    /// The system on its disk.
    Disk,
}

impl HostState {
    /// All states.
    pub const ALL: [Self; 14] = [
        Self::New,
        Self::Unmanaged,
        Self::Registering,
        Self::Inspecting,
        Self::MatchProfile,
        Self::Preparing,
        Self::Ready,
        Self::Available,
        Self::Provisioning,
        Self::Provisioned,
        Self::ExternallyProvisioned,
        Self::Deprovisioning,
        Self::PoweringOff,
        Self::Deleting,
    ];

    /// Returns the text of the state in `status.provisioning.state`.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "",
            Self::Unmanaged => "unmanaged",
            Self::Registering => "registering",
            Self::Inspecting => "inspecting",
            Self::MatchProfile => "match profile",
            Self::Preparing => "preparing",
            Self::Ready => "ready",
            Self::Available => "available",
            Self::Provisioning => "provisioning",
            Self::Provisioned => "provisioned",
            Self::ExternallyProvisioned => "externally provisioned",
            Self::Deprovisioning => "deprovisioning",
            Self::PoweringOff => "powering off before delete",
            Self::Deleting => "deleting",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the state with that name, or [`Self::Unknown`].
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|state| state.name() == name).unwrap_or(Self::Unknown)
    }

    /// Returns the state of the host; a host without a status is [`Self::New`].
    pub fn of(host: &BareMetalHost) -> Self {
        host.status.as_ref().map_or(Self::New, |status| Self::from_name(&status.provisioning.state))
    }

    /// Returns whether the controller manages the machine: it uses the BMC and knows the power state.
    pub fn is_managed(self) -> bool {
        !matches!(self, Self::New | Self::Unmanaged)
    }

    /// Returns whether the machine runs a system of a user.
    pub fn is_in_use(self) -> bool {
        matches!(self, Self::Provisioned | Self::ExternallyProvisioned)
    }

    /// Returns whether the host stays in this state until its spec changes.
    pub fn is_settled(self) -> bool {
        self.is_in_use() || matches!(self, Self::Available | Self::Ready)
    }

    /// Returns whether a host in this state counts towards the limit of busy hosts.
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Inspecting | Self::Provisioning | Self::Deprovisioning)
    }

    /// Returns whether the machine may get its user data.
    pub fn has_user_data(self) -> bool {
        matches!(self, Self::Provisioning | Self::Provisioned)
    }

    /// Returns the state that a deleted host enters; `None` if its state already belongs to the deletion.
    pub fn on_deletion(self) -> Option<Self> {
        match self {
            Self::Deleting | Self::PoweringOff | Self::Deprovisioning => None,
            Self::New | Self::Unmanaged | Self::Registering => Some(Self::Deleting),
            Self::Provisioning | Self::Provisioned => Some(Self::Deprovisioning),
            Self::Inspecting
            | Self::MatchProfile
            | Self::Preparing
            | Self::Ready
            | Self::Available
            | Self::ExternallyProvisioned
            | Self::Unknown => Some(Self::PoweringOff),
        }
    }
}

/// Returns what the machine of a host boots: the agent in every state in which the controller changes or inspects the machine, and its
/// disk otherwise, or as soon as its image is written and its agent has the instruction to restart.
pub fn network_boot(host: &BareMetalHost, agent: Option<&Agent>) -> NetworkBoot {
    if annotation(host, DETACHED).is_some() {
        return NetworkBoot::Disk;
    }
    match HostState::of(host) {
        HostState::Provisioning if is_written(host, agent) => NetworkBoot::Disk,
        HostState::Unmanaged
        | HostState::Provisioned
        | HostState::ExternallyProvisioned
        | HostState::PoweringOff
        | HostState::Deleting => NetworkBoot::Disk,
        HostState::New
        | HostState::Registering
        | HostState::Inspecting
        | HostState::MatchProfile
        | HostState::Preparing
        | HostState::Ready
        | HostState::Available
        | HostState::Provisioning
        | HostState::Deprovisioning
        | HostState::Unknown => NetworkBoot::Agent,
    }
}

/// Returns whether the current deployment has ended, which the controller marks with a restart instruction. A restart instruction of an
/// earlier provisioning does not count.
fn is_written(host: &BareMetalHost, agent: Option<&Agent>) -> bool {
    let begun = || host.status.as_ref()?.operation_history.as_ref()?.provision.as_ref()?.start.as_deref();
    let instruction = agent.and_then(|agent| agent.spec.instruction.as_ref());
    match (instruction, begun()) {
        (Some(instruction), Some(begun)) => is_restart_of(instruction, begun),
        _ => false,
    }
}

/// Returns the reason why the host would ignore the annotation that requests a restart; `None` if it would not.
pub fn reboot_refusal(host: &BareMetalHost, force: bool) -> Option<String> {
    for (key, what) in [(PAUSED, "paused"), (DETACHED, "detached")] {
        if annotation(host, key).is_some() {
            return Some(format!("the host is {what}: remove the annotation {key} first"));
        }
    }
    let name = host.status.as_ref().map_or("", |status| status.provisioning.state.as_str());
    match HostState::of(host) {
        HostState::Provisioned | HostState::ExternallyProvisioned => None,
        HostState::New | HostState::Unmanaged => Some(format!(
            "nothing is known of the host's power: set spec.bmc, or the annotation {POWER} for a host without a BMC"
        )),
        HostState::Registering | HostState::Deleting | HostState::PoweringOff => {
            Some(format!("the host is {name}: try again later"))
        }
        HostState::Inspecting
        | HostState::MatchProfile
        | HostState::Preparing
        | HostState::Ready
        | HostState::Available
        | HostState::Provisioning
        | HostState::Deprovisioning
        | HostState::Unknown => {
            let refusal =
                || format!("the host is {name}, where only a forced restart is heeded: set force to true");
            (!force).then(refusal)
        }
    }
}
