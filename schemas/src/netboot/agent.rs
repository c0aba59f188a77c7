// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `netboot`: agent.

use crate::meta::Condition;
use crate::metal3::HardwareDetails;
use crate::metal3::RootDeviceHints;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A machine that runs the agent, or ran it. Its name is the MAC address through which it booted, with
/// dashes.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Agent {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What the machine is to do, and for whom.
    pub spec: AgentSpec,
    /// What the machine told of itself.
    pub status: Option<AgentStatus>,
}

crate::kind!(
    Agent,
    "netboot.firstlight.dev",
    "v1alpha1",
    "agents",
    ClusterResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(Agent);

/// That the machine was given what it is given once.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentHandover {
    /// What it was given for. For something else it is given again.
    pub purpose: String,
    /// When it was given first.
    pub time: String,
    /// The checksum of the one-time token that stands in it, in hexadecimal.
    #[serde(rename = "tokenSHA256", skip_serializing_if = "Option::is_none")]
    pub token_sha256: Option<String>,
}

/// A BareMetalHost.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentHostReference {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// What an agent is to do.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentInstruction {
    /// Wait: stay there. Inspect: report what the machine is made of. Clean: make disks empty. Deploy:
    /// write an image to the root disk. Restart and PowerOff: end what runs, and restart or switch off.
    pub action: String,
    /// The start of the machine that it is meant for, as status.bootID has it. After another start nothing
    /// is done.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Whether the agent fetches a configuration drive and writes it beside the image.
    #[serde(rename = "configDrive", skip_serializing_if = "Option::is_none")]
    pub config_drive: Option<bool>,
    /// How thoroughly disks are made empty. Metadata: partition tables and signatures of file systems.
    /// Everything: each block, by the fastest way that the disk has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase: Option<String>,
    /// Another one for each instruction of this machine.
    pub id: String,
    /// The image to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<InstructionImage>,
    /// Which disk is the root disk. Everything that is given must hold.
    #[serde(rename = "rootDeviceHints", skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
}

/// How an instruction fares.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentInstructionStatus {
    /// Bytes that are done.
    #[serde(rename = "bytesDone", skip_serializing_if = "Option::is_none")]
    pub bytes_done: Option<i64>,
    /// Bytes that there are in all. Unset: not known.
    #[serde(rename = "bytesTotal", skip_serializing_if = "Option::is_none")]
    pub bytes_total: Option<i64>,
    /// When it ended.
    #[serde(rename = "endTime", skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// The instruction's id.
    pub id: String,
    /// What is being done, or what went wrong, where, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it began.
    #[serde(rename = "startTime", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// Running, Done or Failed.
    pub state: String,
}

/// What the machine is to do, and for whom.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentSpec {
    /// A person vouches for the machine: for the one that called under this name, which then is a
    /// BareMetalHost, or for the one that asks to be let in as the host that this is. It counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The BareMetalHost that this machine is. Unset while it is unknown.
    #[serde(rename = "hostRef", skip_serializing_if = "Option::is_none")]
    pub host_ref: Option<AgentHostReference>,
    /// What it is to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<AgentInstruction>,
}

/// What the machine told of itself.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AgentStatus {
    /// The IP address from which it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Another one after each start of the machine.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// MAC address of the interface through which it speaks.
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<String>,
    /// How its firmware started it.
    #[serde(rename = "bootMode", skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// The checksum of the one-time token with which it enrolled, in hexadecimal. Nobody enrols with it
    /// again.
    #[serde(rename = "bootTokenSHA256", skip_serializing_if = "Option::is_none")]
    pub boot_token_sha256: Option<String>,
    /// The checksum of the certificate with which it enrolled, in hexadecimal. Nobody else speaks for it
    /// until it starts again.
    #[serde(rename = "certificateSHA256", skip_serializing_if = "Option::is_none")]
    pub certificate_sha256: Option<String>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// That it was given its configuration drive, for an instruction.
    #[serde(rename = "configDrive", skip_serializing_if = "Option::is_none")]
    pub config_drive: Option<AgentHandover>,
    /// The checksum of the public area of its TPM's endorsement key, in hexadecimal. What shows another
    /// key, or none, is not let in under this name. Unset for machines without a TPM.
    #[serde(rename = "endorsementKeySHA256", skip_serializing_if = "Option::is_none")]
    pub endorsement_key_sha256: Option<String>,
    /// What it is made of. Unset until it was inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
    /// How the newest instruction fares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<AgentInstructionStatus>,
    /// When it was heard of last.
    #[serde(rename = "lastSeenTime", skip_serializing_if = "Option::is_none")]
    pub last_seen_time: Option<String>,
    /// The newest lines of its log, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// MAC addresses of all its interfaces, as it says.
    #[serde(rename = "macAddresses", skip_serializing_if = "Vec::is_empty")]
    pub mac_addresses: Vec<String>,
    /// What showed that it is the machine with the MAC address that it is named for. Token: the one-time
    /// token of its start. EndorsementKey: its TPM. Approval: a person. Unset: nothing but its own words,
    /// so that it is nobody's host.
    #[serde(rename = "provenBy", skip_serializing_if = "Option::is_none")]
    pub proven_by: Option<String>,
    /// Its serial number, as its firmware has it.
    #[serde(rename = "serialNumber", skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Its UUID, as its firmware has it, in lower case.
    #[serde(rename = "systemUUID", skip_serializing_if = "Option::is_none")]
    pub system_uuid: Option<String>,
    /// That it was given its host's user data, for the provisioning that began at a time.
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<AgentHandover>,
    /// Version of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// An image to write.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InstructionImage {
    /// The checksum of the image, or the URL of a file of checksums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// How the checksum was made: md5, sha256 or sha512. Unset or auto: told by its length.
    #[serde(rename = "checksumType", skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<String>,
    /// raw or qcow2, compressed or not. Unset: told by its first bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Where it is, http or https.
    pub url: String,
}
