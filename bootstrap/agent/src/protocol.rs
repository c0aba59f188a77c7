//! The protocol between agents and the server: JSON over HTTPS, with a client certificate that the agent makes for itself.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agent/v1/challenge` | [`Endorsement`] without a proof | [`Challenge`], for machines with a TPM |
//! | `POST /agent/v1/enrol` | [`Enrolment`] | [`Enrolled`]; 403 when the server does not let this machine in |
//! | `GET /agent/v1/instruction?after=ID` | | [`Instruction`] with another id than `ID`, or 204 if there is none for 30 s |
//! | `POST /agent/v1/report` | [`Report`] | 204 |
//! | `GET /agent/v1/config-drive` | | the files of the configuration drive, [`ConfigDrive`]; 404 when the host has none |
//!
//! A machine with a TPM shows its endorsement key and proves that it owns it, each time that it enrols: the server pins the key at the
//! first contact, and refuses a machine with another key or none. The certificate of the first enrolment identifies the machine for as
//! long as it runs: the server accepts no other certificate for it. An agent enrols again with the same certificate whenever the server
//! answers 401 (after a restart of the server).

use serde::{Deserialize, Serialize};

/// The content of `/etc/firstlight/agent.json` in the initramfs. The kernel arguments `firstlight.server=URL` (may be repeated) take
/// precedence over `servers`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// The URLs of the server, tried in this order: `https://ADDRESS:PORT`.
    pub servers: Vec<String>,
    /// The certificate authority of the server, PEM.
    pub certificate_authority: String,
    /// Further certificate authorities for images that are fetched over HTTPS, PEM.
    pub image_authorities: String,
    /// Names of kernel modules that are loaded even if no device needs them.
    pub modules: Vec<String>,
}

/// The body of an enrolment: the identity of the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Enrolment {
    /// The one-time token of the kernel arguments, if there was one.
    pub token: Option<String>,
    /// The MAC address of the interface that this connection uses, in lower case with colons.
    pub boot_mac_address: String,
    /// The MAC addresses of all interfaces.
    pub mac_addresses: Vec<String>,
    /// The `system-uuid` of the machine's SMBIOS, in lower case.
    pub system_uuid: Option<String>,
    /// The serial number of the machine's SMBIOS.
    pub serial_number: Option<String>,
    /// `/proc/sys/kernel/random/boot_id`, which differs after each start.
    pub boot_id: String,
    /// The version of the program.
    pub version: String,
    /// The endorsement key of the machine's TPM, if it has one.
    pub endorsement: Option<Endorsement>,
}

/// A TPM's endorsement key.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Endorsement {
    /// The public area of the key (`TPMT_PUBLIC`), hexadecimal.
    pub key: String,
    /// The secret of the [`Challenge`], hexadecimal; empty in a request for a challenge.
    pub proof: String,
}

/// A challenge that only the TPM with the endorsement key can open, for the certificate of the request ([`crate::tpm::Binding`]).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Challenge {
    /// The credential (`TPM2B_ID_OBJECT` without its length), hexadecimal.
    pub credential: String,
    /// The encrypted seed of the credential's keys (`TPM2B_ENCRYPTED_SECRET` without its length), hexadecimal.
    pub secret: String,
}

/// Returns the bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of hexadecimal digits; `None` if the text is invalid.
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
    /// The name of the Agent object.
    pub name: String,
    /// Seconds between two reports if there is nothing new.
    pub report_seconds: u64,
}

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
        /// How thoroughly the disks are erased.
        erase: Erase,
    },
    /// Write an image to the root disk.
    Deploy(Box<Deployment>),
    /// End the running work and restart the machine.
    Restart,
    /// End the running work and switch the machine off.
    PowerOff,
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

/// How thoroughly disks are erased.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Partition tables and the signatures of file systems, RAID and LVM, at both ends of each disk and of each partition.
    Metadata,
    /// The whole disk, by the fastest way that the device supports: format, discard, secure erase, zeros.
    Everything,
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

/// The files of the configuration drive, by path below its root (`openstack/latest/meta_data.json`), as text.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
#[serde(transparent)]
pub struct ConfigDrive {
    /// The content of each file by its path.
    pub files: std::collections::BTreeMap<String, String>,
}
