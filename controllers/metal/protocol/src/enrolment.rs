//! The messages of an enrolment: the identity of the machine, and the challenge for its TPM.

use serde::{Deserialize, Serialize};

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

/// A challenge that only the TPM with a given endorsement key can open, bound to the certificate of the client that requests it (the
/// agent's `tpm::Binding`).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Challenge {
    /// The credential (`TPM2B_ID_OBJECT` without its length), hexadecimal.
    pub credential: String,
    /// The encrypted seed of the credential's keys (`TPM2B_ENCRYPTED_SECRET` without its length), hexadecimal.
    pub secret: String,
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
