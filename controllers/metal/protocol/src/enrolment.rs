//! How an agent comes in: who it is, and what its TPM shows.

use serde::{Deserialize, Serialize};

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

/// What only the TPM with an endorsement key can open, for the certificate that asks for it (the agent's `tpm::Binding`).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Challenge {
    /// The credential (`TPM2B_ID_OBJECT` without its length), hexadecimal.
    pub credential: String,
    /// What its key is made of (`TPM2B_ENCRYPTED_SECRET` without its length), hexadecimal.
    pub secret: String,
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
