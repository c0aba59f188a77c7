//! What a reconcile of a BareMetalHost knows.

use std::time::Duration;

use chrono::{DateTime, Utc};
use schemas::metal3::{BareMetalHost, HardwareDetails};

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
    /// Too many other hosts are busy.
    pub is_full: bool,
    /// A Secret that the host names and that is not as it must be.
    pub data_problem: Option<String>,
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
    /// `Running`, `Done` or `Failed`.
    pub state: String,
    /// What it says of it.
    pub message: String,
    /// When it began with the instruction.
    pub since: Option<DateTime<Utc>>,
    /// What the machine has.
    pub hardware: Option<HardwareDetails>,
}
