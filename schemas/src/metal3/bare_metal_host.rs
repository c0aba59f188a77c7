// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: bare metal host.

use crate::bootstrap::Taint;
use crate::meta::ObjectReference;
use crate::metal3::BareMetalHostStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A machine: how its power is switched, what shall run on it, and where it stands.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BareMetalHost {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What a host is, and what shall become of it.
    pub spec: BareMetalHostSpec,
    /// How a host is.
    pub status: Option<BareMetalHostStatus>,
}

crate::kind!(
    BareMetalHost,
    "metal3.io",
    "v1alpha1",
    "baremetalhosts",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(BareMetalHost);

/// What a host is, and what shall become of it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BareMetalHostSpec {
    /// Architecture of its processors, such as x86_64 or aarch64. Filled in from what inspection found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// What happens to its disks before and after it is provisioned: metadata removes partition tables,
    /// disabled leaves them.
    #[serde(rename = "automatedCleaningMode", skip_serializing_if = "Option::is_none")]
    pub automated_cleaning_mode: Option<String>,
    /// How its baseboard management controller is reached. A host without one stays unmanaged, unless the
    /// annotation metal.firstlight.dev/power says how its power is switched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcDetails>,
    /// MAC address of the interface through which it boots. It can't be changed.
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<String>,
    /// How its firmware starts it: UEFI, UEFISecureBoot or legacy. Unset: UEFI.
    #[serde(rename = "bootMode", skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// Who uses the host. Whoever sets it has the host for themselves.
    #[serde(rename = "consumerRef", skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// A way of installing that the agent brings along, in place of writing an image, or together with it.
    #[serde(rename = "customDeploy", skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// A note for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the host must never be switched off: it is restarted instead. Then it can't be taken
    /// offline.
    #[serde(rename = "disablePowerOff", skip_serializing_if = "Option::is_none")]
    pub disable_power_off: Option<bool>,
    /// Whether somebody else installed it: only its power is managed, and its disks are left alone. To be
    /// set when it is made, or while it is available.
    #[serde(rename = "externallyProvisioned", skip_serializing_if = "Option::is_none")]
    pub externally_provisioned: Option<bool>,
    /// Settings of the firmware. No longer used; HostFirmwareSettings took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<FirmwareConfig>,
    /// Which disk is the root disk where no hints are given. No longer used: give hints.
    #[serde(rename = "hardwareProfile", skip_serializing_if = "Option::is_none")]
    pub hardware_profile: Option<String>,
    /// What to write to its root disk. Without it the host is cleaned and waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Whether the host is inspected, by the agent. Unset: agent.
    #[serde(rename = "inspectionMode", skip_serializing_if = "Option::is_none")]
    pub inspection_mode: Option<String>,
    /// Metadata for cloud-init, in the key metaData or value, beside the name and identity of the host.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// Network configuration for cloud-init, in the key networkData or value.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// Whether the host is to be switched on.
    pub online: bool,
    /// Name of the Secret in the same namespace with the network configuration while the agent runs, in the
    /// key networkData or value.
    #[serde(rename = "preprovisioningNetworkDataName", skip_serializing_if = "Option::is_none")]
    pub preprovisioning_network_data_name: Option<String>,
    /// Volumes made of several disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidConfig>,
    /// Which disk is the root disk. Everything that is given must hold.
    #[serde(rename = "rootDeviceHints", skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Taints that the node is to have. Nothing here reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// What cloud-init or Ignition does at the first start, in the key userData or value.
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

/// How the host's baseboard management controller is reached.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BmcDetails {
    /// Its URL. The scheme says how to speak to it: ipmi, redfish, redfish-virtualmedia, redfish-uefihttp,
    /// idrac-redfish and others. Without a scheme it is ipmi.
    pub address: String,
    /// Name of the Secret in the same namespace that has username and password.
    #[serde(rename = "credentialsName")]
    pub credentials_name: String,
    /// Whether any certificate is good enough. For controllers with self-signed ones; whoever sits on the
    /// network can then pretend to be the controller.
    #[serde(rename = "disableCertificateVerification", skip_serializing_if = "Option::is_none")]
    pub disable_certificate_verification: Option<bool>,
}

/// A way of installing that the agent brings along.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct CustomDeploy {
    /// Its name.
    pub method: String,
}

/// Settings of the firmware. No longer used; HostFirmwareSettings took its place.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FirmwareConfig {
    /// Whether a core runs two threads.
    #[serde(rename = "simultaneousMultithreadingEnabled", skip_serializing_if = "Option::is_none")]
    pub simultaneous_multithreading_enabled: Option<bool>,
    /// Whether network cards can show themselves to virtual machines as several.
    #[serde(rename = "sriovEnabled", skip_serializing_if = "Option::is_none")]
    pub sriov_enabled: Option<bool>,
    /// Whether virtual machines can use the processor's help.
    #[serde(rename = "virtualizationEnabled", skip_serializing_if = "Option::is_none")]
    pub virtualization_enabled: Option<bool>,
}

/// A volume that the RAID controller makes of disks.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HardwareRaidVolume {
    /// Name of the controller. Needed with physicalDisks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// The RAID level.
    pub level: String,
    /// Name of the volume, unique on the host. Unset: the controller chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many disks it uses. Unset: the fewest that the level takes.
    #[serde(rename = "numberOfPhysicalDisks", skip_serializing_if = "Option::is_none")]
    pub number_of_physical_disks: Option<i64>,
    /// Names of the disks as the controller has them. Unset: the controller chooses.
    #[serde(rename = "physicalDisks", skip_serializing_if = "Vec::is_empty")]
    pub physical_disks: Vec<String>,
    /// Whether it uses only disks that turn, or only such that do not. Unset: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Its size in GiB. Unset or 0: all that there is.
    #[serde(rename = "sizeGibibytes", skip_serializing_if = "Option::is_none")]
    pub size_gibibytes: Option<i64>,
}

/// What runs on a host once it is provisioned.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Image {
    /// The checksum of the image, or the URL of a file of checksums. Not needed for live-iso and for images
    /// in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// How the checksum was made: md5, sha256 or sha512. Unset or auto: told by its length.
    #[serde(rename = "checksumType", skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<String>,
    /// Format of the image. live-iso is booted and not written. Unset: found out from the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Name of the Secret in the same namespace with which an oci image is fetched, of the type
    /// kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg.
    #[serde(rename = "ociAuthSecretName", skip_serializing_if = "Option::is_none")]
    pub oci_auth_secret_name: Option<String>,
    /// Where the image is, http, https or oci.
    pub url: String,
}

/// Volumes made of several disks. Without root device hints the first of them is the root disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct RaidConfig {
    /// Volumes of the RAID controller. Unset: they stay as they are. Empty: they are removed.
    #[serde(rename = "hardwareRAIDVolumes", skip_serializing_if = "Option::is_none")]
    pub hardware_raid_volumes: Option<Vec<HardwareRaidVolume>>,
    /// Volumes of the kernel. Only where there are none of the controller. Unset: they stay as they are.
    /// Empty: they are removed.
    #[serde(rename = "softwareRAIDVolumes", skip_serializing_if = "Option::is_none")]
    pub software_raid_volumes: Option<Vec<SoftwareRaidVolume>>,
}

/// Which disk. Everything that is given must hold.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct RootDeviceHints {
    /// Its name, such as /dev/vda or /dev/disk/by-path/pci-0000:01:00.0.
    #[serde(rename = "deviceName", skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Its SCSI address, HOST:CHANNEL:TARGET:LUN, such as 0:0:0:0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// The least size in GiB.
    #[serde(rename = "minSizeGigabytes", skip_serializing_if = "Option::is_none")]
    pub min_size_gigabytes: Option<i64>,
    /// A part of its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Its serial number.
    #[serde(rename = "serialNumber", skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// A part of its vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its world wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The vendor's extension of its world wide name.
    #[serde(rename = "wwnVendorExtension", skip_serializing_if = "Option::is_none")]
    pub wwn_vendor_extension: Option<String>,
    /// Its world wide name with the vendor's extension.
    #[serde(rename = "wwnWithExtension", skip_serializing_if = "Option::is_none")]
    pub wwn_with_extension: Option<String>,
}

/// A Secret.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SecretReference {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its namespace: none other than that of the object which refers to it. Unset: that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A volume that the kernel makes of disks.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SoftwareRaidVolume {
    /// The RAID level. That of the first volume is 1.
    pub level: String,
    /// The disks, one entry each. Unset: all that are not in use.
    #[serde(rename = "physicalDisks", skip_serializing_if = "Vec::is_empty")]
    pub physical_disks: Vec<RootDeviceHints>,
    /// Its size in GiB. Unset or 0: all that there is.
    #[serde(rename = "sizeGibibytes", skip_serializing_if = "Option::is_none")]
    pub size_gibibytes: Option<i64>,
}
