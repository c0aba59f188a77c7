//! What an agent is told to do.

use serde::{Deserialize, Serialize};

/// What the agent is to do next.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Instruction {
    /// Another one for each instruction of a machine.
    pub id: String,
    /// What to do.
    pub action: Action,
}

/// An instruction's action. All but `Wait` can be given again after a failure.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "type")]
pub enum Action {
    /// Stay there, say that you live.
    Wait,
    /// Report the inventory.
    Inspect,
    /// Make disks empty.
    #[serde(rename_all = "camelCase")]
    Clean {
        /// How thoroughly.
        erase: Erase,
    },
    /// Write an image to the root disk.
    Deploy(Box<Deployment>),
    /// End what runs and restart the machine.
    Restart,
    /// End what runs and switch the machine off.
    PowerOff,
}

impl Action {
    /// The action's name on the wire and in `Agent.spec.instruction.action`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Wait => "Wait",
            Self::Inspect => "Inspect",
            Self::Clean { .. } => "Clean",
            Self::Deploy(_) => "Deploy",
            Self::Restart => "Restart",
            Self::PowerOff => "PowerOff",
        }
    }

    /// The action of that name, without its details: the gentlest cleaning, an empty deployment. `None` if there is no such action.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Wait,
            Self::Inspect,
            Self::Clean { erase: Erase::Metadata },
            Self::Deploy(Box::default()),
            Self::Restart,
            Self::PowerOff,
        ];
        all.into_iter().find(|action| action.name() == name)
    }
}

/// What is written to the root disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Deployment {
    /// The image.
    pub image: Image,
    /// Which disk.
    pub root_device_hints: RootDeviceHints,
    /// Whether `/agent/v1/config-drive` has files for a partition `config-2`.
    pub config_drive: bool,
}

/// How thoroughly disks are made empty.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Partition tables and the signatures of file systems, RAID and LVM, at both ends of each disk and of each partition.
    Metadata,
    /// Everything, by the fastest way that the device has: format, discard, secure erase, zeros.
    Everything,
}

impl Erase {
    /// Its name on the wire and in `Agent.spec.instruction.erase`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "Metadata",
            Self::Everything => "Everything",
        }
    }
}

/// An image to write.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    /// `http` or `https`.
    pub url: String,
    /// The sum itself, or the URL of a file of sums.
    pub checksum: String,
    /// `md5`, `sha256`, `sha512`, or `auto` and empty: told by the length.
    pub checksum_type: String,
    /// `raw` or `qcow2`; either may be compressed with gzip, xz or zstd, which is told by its first bytes. Empty: told by the first bytes.
    pub format: String,
}

/// Which disk is the root disk: all that are given must hold (`BareMetalHost.spec.rootDeviceHints`).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of Metal3's rootDeviceHints")]
pub struct RootDeviceHints {
    pub device_name: Option<String>,
    pub hctl: Option<String>,
    pub model: Option<String>,
    pub vendor: Option<String>,
    pub serial_number: Option<String>,
    pub min_size_gigabytes: Option<u64>,
    pub wwn: Option<String>,
    pub wwn_with_extension: Option<String>,
    pub wwn_vendor_extension: Option<String>,
    pub rotational: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for name in ["Wait", "Inspect", "Clean", "Deploy", "Restart", "PowerOff"] {
            let action = Action::from_name(name).unwrap();
            assert_eq!(
                (action.name(), &serde_json::to_value(&action).unwrap()["type"]),
                (name, &name.into())
            );
        }
        assert_eq!(Action::from_name("Dance"), None);
        for erase in [Erase::Metadata, Erase::Everything] {
            assert_eq!(serde_json::to_value(erase).unwrap(), erase.name());
        }
    }
}
