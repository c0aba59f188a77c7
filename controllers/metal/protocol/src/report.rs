//! What an agent has to tell, and what it fetches.

use serde::{Deserialize, Serialize};

/// What an agent has to tell: that it lives, what it does, what it found.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// How the newest instruction fares.
    pub instruction: Option<Progress>,
    /// What the machine has, as `HardwareData.spec.hardware` of Metal3 has it; sent with the end of `Inspect`.
    pub inventory: Option<serde_json::Value>,
    /// New lines of the agent's log, oldest first.
    pub log: Vec<String>,
}

/// How an instruction fares.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The instruction's id.
    pub id: String,
    /// Where it stands.
    pub state: State,
    /// What is being done, or what went wrong, where, and what to do about it.
    #[serde(default)]
    pub message: String,
    /// Bytes that are done.
    #[serde(default)]
    pub done: u64,
    /// Bytes that there are in all; 0 when that is not known.
    #[serde(default)]
    pub total: u64,
}

/// Where an instruction stands.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum State {
    Running,
    Done,
    Failed,
}

impl State {
    /// Its name on the wire and in `Agent.status.instruction.state`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Done => "Done",
            Self::Failed => "Failed",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Running, Self::Done, Self::Failed].into_iter().find(|state| state.name() == name)
    }
}

/// The files of the configuration drive, by path below its root (`openstack/latest/meta_data.json`), as text.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
#[serde(transparent)]
pub struct ConfigDrive {
    /// Path to content.
    pub files: std::collections::BTreeMap<String, String>,
}
