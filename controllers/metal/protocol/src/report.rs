//! The reports of an agent, and its host's configuration drive.

use serde::{Deserialize, Serialize};

/// A report of an agent, which is also its sign of life.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// The progress of the latest instruction.
    pub instruction: Option<Progress>,
    /// The inventory of the machine in the format of Metal3's `HardwareData.spec.hardware`, sent with the end of `Inspect`.
    pub inventory: Option<serde_json::Value>,
    /// New lines of the agent's log, oldest first.
    pub log: Vec<String>,
}

/// The progress of an instruction.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The identifier of the instruction.
    pub id: String,
    /// The state of the instruction.
    pub state: State,
    /// The current step, or the error with its place and how to fix it.
    #[serde(default)]
    pub message: String,
    /// The bytes done.
    #[serde(default)]
    pub done: u64,
    /// The total number of bytes; 0 if unknown.
    #[serde(default)]
    pub total: u64,
}

/// The state of an instruction.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum State {
    Running,
    Done,
    Failed,
}

impl State {
    /// Returns the name in messages and in `Agent.status.instruction.state`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Done => "Done",
            Self::Failed => "Failed",
        }
    }

    /// Returns the state with that name, or `None`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Running, Self::Done, Self::Failed].into_iter().find(|state| state.name() == name)
    }
}

/// The files of the configuration drive, by path below its root (`openstack/latest/meta_data.json`), as text.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
#[serde(transparent)]
pub struct ConfigDrive {
    /// The content of each file by its path.
    pub files: std::collections::BTreeMap<String, String>,
}
