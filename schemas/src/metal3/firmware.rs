// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: firmware.

use std::collections::BTreeMap;

use crate::meta::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// What the settings of a firmware can be.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FirmwareSchema {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The settings of a model's firmware.
    pub spec: FirmwareSchemaSpec,
}

crate::kind!(
    FirmwareSchema,
    "metal3.io",
    "v1alpha1",
    "firmwareschemas",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Versions of the firmware of the host of the same name.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareComponents {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Versions to install.
    pub spec: HostFirmwareComponentsSpec,
    /// Versions that are installed.
    pub status: Option<HostFirmwareComponentsStatus>,
}

crate::kind!(
    HostFirmwareComponents,
    "metal3.io",
    "v1alpha1",
    "hostfirmwarecomponents",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(HostFirmwareComponents);

/// Settings of the firmware of the host of the same name.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareSettings {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What the settings shall be.
    pub spec: HostFirmwareSettingsSpec,
    /// What the settings are.
    pub status: Option<HostFirmwareSettingsStatus>,
}

crate::kind!(
    HostFirmwareSettings,
    "metal3.io",
    "v1alpha1",
    "hostfirmwaresettings",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(HostFirmwareSettings);

/// When the firmware of the host of the same name may change.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostUpdatePolicy {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// When a host may be changed.
    pub spec: HostUpdatePolicySpec,
    /// Nothing so far.
    pub status: Option<HostUpdatePolicyStatus>,
}

crate::kind!(
    HostUpdatePolicy,
    "metal3.io",
    "v1alpha1",
    "hostupdatepolicies",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// The software of a part of the host.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FirmwareComponentStatus {
    /// The part: bios, bmc, or nic: followed by the name of a network card.
    pub component: String,
    /// The version that it has.
    #[serde(rename = "currentVersion", skip_serializing_if = "Option::is_none")]
    pub current_version: Option<String>,
    /// The version that it had when it was first seen.
    #[serde(rename = "initialVersion")]
    pub initial_version: String,
    /// The version that was installed last from here.
    #[serde(rename = "lastVersionFlashed", skip_serializing_if = "Option::is_none")]
    pub last_version_flashed: Option<String>,
    /// When that was.
    #[serde(rename = "updatedAt", skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// The settings of a model's firmware.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FirmwareSchemaSpec {
    /// The model.
    #[serde(rename = "hardwareModel", skip_serializing_if = "Option::is_none")]
    pub hardware_model: Option<String>,
    /// Its maker.
    #[serde(rename = "hardwareVendor", skip_serializing_if = "Option::is_none")]
    pub hardware_vendor: Option<String>,
    /// What each setting can be, by its name.
    pub schema: BTreeMap<String, SettingSchema>,
}

/// A version to install.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FirmwareUpdate {
    /// Of what: bios, bmc, or nic: followed by the name of a network card.
    pub component: String,
    /// Where it is.
    pub url: String,
}

/// Versions to install.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareComponentsSpec {
    /// One entry for each component.
    pub updates: Vec<FirmwareUpdate>,
}

/// Versions that are installed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareComponentsStatus {
    /// One entry for each component.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<FirmwareComponentStatus>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// When they were read last.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// The versions that were asked for last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<FirmwareUpdate>,
}

/// What the settings shall be.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareSettingsSpec {
    /// Values by name, for those that shall change. Each is text or a whole number.
    pub settings: BTreeMap<String, IntOrString>,
}

/// What the settings are.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostFirmwareSettingsStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// When they were read last.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// The FirmwareSchema that says what each can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaReference>,
    /// Values by name.
    pub settings: BTreeMap<String, String>,
}

/// When a host may be changed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostUpdatePolicySpec {
    /// When settings of the firmware may change: onPreparing, before the host is available, or also
    /// onReboot, when somebody restarts it while it is provisioned.
    #[serde(rename = "firmwareSettings", skip_serializing_if = "Option::is_none")]
    pub firmware_settings: Option<String>,
    /// When firmware may be installed: onPreparing or also onReboot.
    #[serde(rename = "firmwareUpdates", skip_serializing_if = "Option::is_none")]
    pub firmware_updates: Option<String>,
}

/// Nothing so far.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostUpdatePolicyStatus {}

/// A FirmwareSchema.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SchemaReference {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// What a setting can be.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SettingSchema {
    /// The values of an Enumeration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowable_values: Vec<String>,
    /// Enumeration, String, Integer, Boolean or Password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_type: Option<String>,
    /// The least value of an Integer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<i64>,
    /// The most characters of a String.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// The fewest characters of a String.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// Whether it can't be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether each host has another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<bool>,
    /// The greatest value of an Integer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_bound: Option<i64>,
}
