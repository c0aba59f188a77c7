// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: hardware data.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// What was found on the host of the same name.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HardwareData {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What was found on a host.
    pub spec: HardwareDataSpec,
}

crate::kind!(HardwareData, "metal3.io", "v1alpha1", "hardwaredata", NamespaceResourceScope, [metadata, spec]);

/// The firmware that starts the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Bios {
    /// When it was built, as the firmware writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The processors.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Cpu {
    /// Their architecture, such as x86_64 or aarch64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// How fast they run at most, in MHz.
    #[serde(rename = "clockMegahertz", skip_serializing_if = "Option::is_none")]
    pub clock_megahertz: Option<f64>,
    /// How many there are, as the kernel counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// What they can do, in the kernel's words, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Software that came with the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Firmware {
    /// What starts the machine, BIOS or UEFI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios: Option<Bios>,
}

/// What was found on a host.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HardwareDataSpec {
    /// What it is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
}

/// What the machine is made of.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HardwareDetails {
    /// Its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The software that came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// The name that it had while it was inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Its network interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// Its memory in MiB.
    #[serde(rename = "ramMebibytes", skip_serializing_if = "Option::is_none")]
    pub ram_mebibytes: Option<i64>,
    /// Its disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<Storage>,
    /// Who made it.
    #[serde(rename = "systemVendor", skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<HardwareSystemVendor>,
}

/// Who made the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HardwareSystemVendor {
    /// The maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// The model.
    #[serde(rename = "productName", skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Serial number of the machine.
    #[serde(rename = "serialNumber", skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
}

/// What the switch at the other end of the cable says of itself.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Lldp {
    /// The switch's port.
    #[serde(rename = "portID", skip_serializing_if = "Option::is_none")]
    pub port_id: Option<String>,
    /// The switch, most often its MAC address.
    #[serde(rename = "switchID", skip_serializing_if = "Option::is_none")]
    pub switch_id: Option<String>,
    /// Name of the switch.
    #[serde(rename = "switchSystemName", skip_serializing_if = "Option::is_none")]
    pub switch_system_name: Option<String>,
}

/// A network interface. One with an IPv4 and an IPv6 address is listed twice, once for each.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Nic {
    /// Its address, IPv4 or IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// What the switch at the other end of the cable says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<Lldp>,
    /// Its MAC address, with colons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Vendor and product, such as 0x1af4 0x0001.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its name on the machine, such as enp1s0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it sits on the bus, such as 0000:01:00.0.
    #[serde(rename = "pciAddress", skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// Whether the machine was booted through it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pxe: Option<bool>,
    /// Its speed in Gbit/s, rounded down.
    #[serde(rename = "speedGbps", skip_serializing_if = "Option::is_none")]
    pub speed_gbps: Option<i64>,
    /// The virtual network of frames without a tag.
    #[serde(rename = "vlanId", skip_serializing_if = "Option::is_none")]
    pub vlan_id: Option<i32>,
    /// The virtual networks that the switch offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<Vlan>,
}

/// A disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Storage {
    /// All names that it has below /dev.
    #[serde(rename = "alternateNames", skip_serializing_if = "Vec::is_empty")]
    pub alternate_names: Vec<String>,
    /// Its SCSI address, HOST:CHANNEL:TARGET:LUN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its name below /dev: the one that says where it is connected, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Its serial number.
    #[serde(rename = "serialNumber", skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Its size in bytes.
    #[serde(rename = "sizeBytes", skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// HDD, SSD or NVME.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its world wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The vendor's extension of the world wide name.
    #[serde(rename = "wwnVendorExtension", skip_serializing_if = "Option::is_none")]
    pub wwn_vendor_extension: Option<String>,
    /// The world wide name with the vendor's extension.
    #[serde(rename = "wwnWithExtension", skip_serializing_if = "Option::is_none")]
    pub wwn_with_extension: Option<String>,
}

/// A virtual network that a switch offers at a port.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Vlan {
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
