//! What an agent and its server say to each other: JSON over HTTPS, with the agent's own certificate.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agent/v1/challenge` | [`Endorsement`] without a proof | [`Challenge`], for machines with a TPM |
//! | `POST /agent/v1/enrol` | [`Enrolment`] | [`Enrolled`]; 403 when the server does not let this machine in |
//! | `GET /agent/v1/instruction?after=ID` | | [`Instruction`] with another id than `ID`, or 204 when there is none for 30 s |
//! | `POST /agent/v1/report` | [`Report`] | 204 |
//! | `GET /agent/v1/config-drive` | | the files of the configuration drive, [`ConfigDrive`]; 404 when the host has none |
//!
//! A machine with a TPM shows its endorsement key and proves that it has it, each time that it enrols: the server pins the key at the first
//! contact, and what shows another one, or none, is not that machine.
//! The certificate of the first enrolment is the machine's for as long as it runs: the server lets nobody else speak for it. An agent
//! enrols again with the same certificate whenever the server answers 401 (a server that was started anew).

use serde::{Deserialize, Serialize};

/// What `/etc/firstlight/agent.json` in the initramfs says. Kernel arguments `firstlight.server=URL` (may be repeated) and
/// `firstlight.token=TOKEN` go before it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// Where the server is, tried in this order: `https://ADDRESS:PORT`.
    pub servers: Vec<String>,
    /// The certificate authority of the server, PEM.
    pub certificate_authority: String,
    /// Further authorities of servers that images are fetched from over HTTPS, PEM.
    pub image_authorities: String,
    /// Names of kernel modules that are loaded although no device asks for them.
    pub modules: Vec<String>,
}

/// The first word of an agent.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Enrolment {
    /// The one-time token of the kernel arguments, when there was one.
    pub token: Option<String>,
    /// MAC address of the interface that this connection goes out of, lower case with colons.
    pub boot_mac_address: String,
    /// MAC addresses of all interfaces.
    pub mac_addresses: Vec<String>,
    /// `system-uuid` of the machine's SMBIOS, lower case.
    pub system_uuid: Option<String>,
    /// Serial number of the machine's SMBIOS.
    pub serial_number: Option<String>,
    /// `/proc/sys/kernel/random/boot_id`: another one after each start.
    pub boot_id: String,
    /// Version of the program.
    pub version: String,
    /// The endorsement key of the machine's TPM, when it has one.
    pub endorsement: Option<Endorsement>,
}

/// A TPM's endorsement key.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Endorsement {
    /// Its public area (`TPMT_PUBLIC`), hexadecimal.
    pub key: String,
    /// The secret of the [`Challenge`], hexadecimal.
    pub proof: String,
}

/// What only the TPM with an endorsement key can open, for the certificate that asks for it ([`crate::tpm::Binding`]).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Challenge {
    /// The credential (`TPM2B_ID_OBJECT` without its length), hexadecimal.
    pub credential: String,
    /// What its key is made of (`TPM2B_ENCRYPTED_SECRET` without its length), hexadecimal.
    pub secret: String,
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; `None` when they are none.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let read = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(read).collect()
}

/// The answer to an enrolment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Enrolled {
    /// Name of the Agent object.
    pub name: String,
    /// Seconds between two reports when there is nothing new; a machine that is silent for three of them is told so.
    pub report_seconds: u64,
}

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

/// The files of the configuration drive, by path below its root (`openstack/latest/meta_data.json`), as text.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
#[serde(transparent)]
pub struct ConfigDrive {
    /// Path to content.
    pub files: std::collections::BTreeMap<String, String>,
}
