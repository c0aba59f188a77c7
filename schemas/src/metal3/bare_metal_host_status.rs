// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: bare metal host status.

use crate::meta::Condition;
use crate::metal3::CustomDeploy;
use crate::metal3::FirmwareConfig;
use crate::metal3::HardwareDetails;
use crate::metal3::Image;
use crate::metal3::RaidConfig;
use crate::metal3::RootDeviceHints;
use crate::metal3::SecretReference;
use serde::{Deserialize, Serialize};

/// How a host is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BareMetalHostStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// How often in a row something went wrong.
    #[serde(rename = "errorCount")]
    pub error_count: i64,
    /// What went wrong last. Empty when all is well.
    #[serde(rename = "errorMessage")]
    pub error_message: String,
    /// What was being done when it went wrong.
    #[serde(rename = "errorType", skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The credentials that worked last.
    #[serde(rename = "goodCredentials", skip_serializing_if = "Option::is_none")]
    pub good_credentials: Option<CredentialsStatus>,
    /// What the host is made of, as the HardwareData of its name has it. Read that one instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
    /// The profile that fits it. No longer used.
    #[serde(rename = "hardwareProfile", skip_serializing_if = "Option::is_none")]
    pub hardware_profile: Option<String>,
    /// When the status was written last.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// When things were done last.
    #[serde(rename = "operationHistory", skip_serializing_if = "Option::is_none")]
    pub operation_history: Option<OperationHistory>,
    /// How it is: OK, discovered (nothing known about its power), error, delayed (waits for its turn),
    /// detached or servicing. Empty at first.
    #[serde(rename = "operationalStatus")]
    pub operational_status: String,
    /// Whether it was switched on when that was last seen.
    #[serde(rename = "poweredOn")]
    pub powered_on: bool,
    /// Where it stands, and what it was last made to be.
    pub provisioning: ProvisionStatus,
    /// The credentials that were tried last.
    #[serde(rename = "triedCredentials", skip_serializing_if = "Option::is_none")]
    pub tried_credentials: Option<CredentialsStatus>,
}

/// Credentials that were tried.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct CredentialsStatus {
    /// The Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SecretReference>,
    /// Its resourceVersion at the time.
    #[serde(rename = "credentialsVersion", skip_serializing_if = "Option::is_none")]
    pub credentials_version: Option<String>,
}

/// When things were done last.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct OperationHistory {
    /// Deprovisioning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprovision: Option<OperationMetric>,
    /// Inspection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect: Option<OperationMetric>,
    /// Provisioning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provision: Option<OperationMetric>,
    /// Registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<OperationMetric>,
}

/// When something was done last.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct OperationMetric {
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

/// Where the host stands, and what it was last made to be.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProvisionStatus {
    /// How whoever does the work names the host.
    #[serde(rename = "ID")]
    pub id: String,
    /// How its firmware starts it.
    #[serde(rename = "bootMode", skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// How it was installed, when in a way of the agent's own.
    #[serde(rename = "customDeploy", skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Settings of the firmware. No longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<FirmwareConfig>,
    /// What was written to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// The volumes that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidConfig>,
    /// The root disk that was chosen by.
    #[serde(rename = "rootDeviceHints", skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Where it stands: unmanaged, registering, inspecting, preparing, available, provisioning,
    /// provisioned, externally provisioned, deprovisioning, powering off before delete or deleting. Empty
    /// at first.
    pub state: String,
}
