//! The instructions to an agent.

use serde::{Deserialize, Serialize};

/// The next instruction for an agent.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Instruction {
    /// The identifier, which is unique among the instructions of a machine.
    pub id: String,
    /// The action to carry out.
    pub action: Action,
}

/// The action of an instruction. Every action except `Wait` can be given again after a failure.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "type")]
pub enum Action {
    /// Do nothing but report regularly.
    Wait,
    /// Report the inventory.
    Inspect,
    /// Erase the disks.
    #[serde(rename_all = "camelCase")]
    Clean {
        /// The erase method.
        erase: Erase,
    },
    /// Write an image to the root disk.
    Deploy(Box<Deployment>),
    /// End the running work and restart the machine.
    Restart,
    /// End the running work and switch the machine off.
    PowerOff,
}

impl Action {
    /// Returns the name of the action in messages and in `Agent.spec.instruction.action`.
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

    /// Returns the action with that name and default details, or `None` if the name is unknown.
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

/// The content for the root disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Deployment {
    /// The image.
    pub image: Image,
    /// The hints that choose the disk.
    pub root_device_hints: RootDeviceHints,
    /// Whether `/agent/v1/config-drive` has files for a partition `config-2`.
    pub config_drive: bool,
}

/// The method by which disks are erased.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Partition tables and the signatures of file systems, RAID and LVM, at both ends of each disk and of each partition.
    Metadata,
    /// The whole disk, by the fastest way that the device supports: format, discard, secure erase, zeros.
    Everything,
}

impl Erase {
    /// Returns the name in messages and in `Agent.spec.instruction.erase`.
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
    /// The URL, with the scheme `http` or `https`.
    pub url: String,
    /// The checksum, or the URL of a file of checksums.
    pub checksum: String,
    /// `md5`, `sha256` or `sha512`; `auto` or empty: the length of the checksum decides.
    pub checksum_type: String,
    /// `raw` or `qcow2`; empty: the first bytes decide. A raw image may be compressed with gzip, xz or zstd, which the first bytes
    /// show.
    pub format: String,
}

/// The hints that choose the root disk: all given hints must hold (`BareMetalHost.spec.rootDeviceHints`).
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
