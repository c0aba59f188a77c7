//! Admission rules of BareMetalHost: those of Metal3's webhook (baremetal-operator v0.13) and those of
//! firstlight's own annotations.

use machinery::url;
use serde_json::Value;

use super::common::{self, Errors};
use super::host_annotations;
use super::request::Request;
use crate::bmc_address::{AddressError, BmcAddress, Capability, Scheme};
use crate::metal3::{BareMetalHost, BareMetalHostSpec, Image, RaidConfig, RootDeviceHints, SecretReference};

const ADDRESS: &str = "spec.bmc.address";
const MAC_ADDRESS: &str = "spec.bootMACAddress";

pub fn bare_metal_host(request: Request<'_>, host: &BareMetalHost, errors: &mut Errors) {
    let spec = &host.spec;
    name(host.metadata.name.as_deref().unwrap_or_default(), errors);
    let inspection_is_disabled = host_annotations::inspection_is_disabled(host);
    bmc(spec, inspection_is_disabled, errors);
    mac_address(spec.boot_mac_address.as_deref().unwrap_or_default(), errors);
    if spec.disable_power_off == Some(true) && !spec.online {
        errors.forbidden(
            "spec.online",
            "can't be false while spec.disablePowerOff is true: change one of them",
        );
    }
    if let Some(image) = &spec.image {
        self::image(image, errors);
    }
    raid(spec.raid.as_ref(), errors);
    root_device(spec.root_device_hints.as_ref(), errors);
    let namespace = host.metadata.namespace.as_deref().unwrap_or_default();
    let secrets =
        [("userData", &spec.user_data), ("networkData", &spec.network_data), ("metaData", &spec.meta_data)];
    for (field, secret) in secrets {
        own_namespace(&format!("spec.{field}.namespace"), secret.as_ref(), namespace, errors);
    }
    host_annotations::validate(host, errors);
    if let Some(old) = request.old {
        changes(old, request.new, errors);
    }
}

/// Checks the name. Names of hosts become parts of other names, and a UUID would be mistaken for an ID there.
fn name(name: &str, errors: &mut Errors) {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.chars().all(allowed) {
        errors.invalid("metadata.name", name, "must consist of letters, digits, '.', '_' and '-'");
    }
    let has_dashes = name.len() == 36 && [8, 13, 18, 23].iter().all(|at| name.as_bytes()[*at] == b'-');
    let digits: String = if has_dashes { name.replace('-', "") } else { name.to_owned() };
    if digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        errors.invalid("metadata.name", name, "must not be a UUID: give the host a name such as node-7");
    }
}

/// Checks the BMC address, and that the BMC supports what the host asks for.
fn bmc(spec: &BareMetalHostSpec, inspection_is_disabled: bool, errors: &mut Errors) {
    let text = spec.bmc.as_ref().map_or("", |bmc| bmc.address.as_str());
    if text.is_empty() {
        return;
    }
    let address = match BmcAddress::parse(text) {
        Ok(address) => address,
        // The value is not shown, since it may contain a password.
        Err(AddressError::Credentials) => {
            return errors.forbidden(ADDRESS, AddressError::Credentials.to_string());
        }
        Err(problem) => return errors.invalid(ADDRESS, text, problem.to_string()),
    };
    let scheme = address.scheme;
    let has_mac_address = spec.boot_mac_address.as_deref().is_some_and(|mac| !mac.is_empty());
    if !has_mac_address && scheme.needs_mac_address() {
        errors.required(
            MAC_ADDRESS,
            format!("with {scheme} the host must specify the MAC address of its boot interface"),
        );
    } else if !has_mac_address && inspection_is_disabled {
        errors.required(
            MAC_ADDRESS,
            "without inspection nothing can find out through which interface the host boots",
        );
    }
    needs(spec, scheme, errors);
}

fn needs(spec: &BareMetalHostSpec, scheme: Scheme, errors: &mut Errors) {
    let volumes = spec.raid.as_ref().and_then(|raid| raid.hardware_raid_volumes.as_ref());
    if volumes.is_some_and(|volumes| !volumes.is_empty()) && !scheme.can(Capability::HardwareRaid) {
        errors.forbidden(
            "spec.raid.hardwareRAIDVolumes",
            format!("{scheme} can't configure a RAID controller: use Redfish, or softwareRAIDVolumes"),
        );
    }
    if spec.firmware.is_some() {
        errors.forbidden(
            "spec.firmware",
            format!("{scheme} can't change these settings: remove it, and use HostFirmwareSettings"),
        );
    }
    if spec.boot_mode.as_deref() == Some("UEFISecureBoot") && !scheme.can(Capability::SecureBoot) {
        errors.invalid(
            "spec.bootMode",
            "UEFISecureBoot",
            format!("{scheme} can't switch Secure Boot on: use Redfish, or the boot mode UEFI"),
        );
    }
}

/// Checks the MAC address. The schema only requires six octets with colons somewhere in the text; addresses
/// of 8 and 20 octets exist in other networks.
fn mac_address(text: &str, errors: &mut Errors) {
    if text.is_empty() {
        return;
    }
    let octets: Vec<&str> = text.split(':').collect();
    let is_octet = |octet: &&str| octet.len() == 2 && octet.bytes().all(|digit| digit.is_ascii_hexdigit());
    if ![6, 8, 20].contains(&octets.len()) || !octets.iter().all(is_octet) {
        errors.invalid(MAC_ADDRESS, text, "must be a MAC address with colons, such as 52:54:00:12:34:56");
    }
}

/// Checks `spec.image`.
pub fn image(image: &Image, errors: &mut Errors) {
    image_url("spec.image.url", &image.url, errors);
    let has_checksum = image.checksum.as_deref().is_some_and(|checksum| !checksum.is_empty());
    let needs_none = image.format.as_deref() == Some("live-iso") || image.url.starts_with("oci://");
    if !has_checksum && !needs_none {
        errors.required(
            "spec.image.checksum",
            "set it to the checksum of the image, or to the URL of a file of checksums",
        );
    }
}

/// Checks the URL of a disk image.
pub fn image_url(field: &str, text: &str, errors: &mut Errors) {
    if let Err(problem) = url::parse_request_uri(text) {
        let expected = "must be a URL such as https://images.example.org/debian.qcow2";
        errors.invalid(field, text, format!("{expected}: {problem}"));
    }
}

fn raid(raid: Option<&RaidConfig>, errors: &mut Errors) {
    let Some(raid) = raid else { return };
    let hardware = raid.hardware_raid_volumes.as_deref().unwrap_or_default();
    let software = raid.software_raid_volumes.as_deref().unwrap_or_default();
    if !hardware.is_empty() && !software.is_empty() {
        errors.forbidden(
            "spec.raid.softwareRAIDVolumes",
            "can't be set together with hardwareRAIDVolumes: remove one of them",
        );
    }
    for (index, volume) in hardware.iter().enumerate() {
        let field = format!("spec.raid.hardwareRAIDVolumes[{index}]");
        let disks = volume.physical_disks.len();
        if disks > 0 && volume.controller.as_deref().unwrap_or_default().is_empty() {
            errors.required(
                format_args!("{field}.controller"),
                "set controller: physicalDisks belong to a controller",
            );
        }
        let number = volume.number_of_physical_disks;
        if let Some(number) = number.filter(|number| disks > 0 && usize::try_from(*number) != Ok(disks)) {
            errors.invalid(
                format_args!("{field}.numberOfPhysicalDisks"),
                number,
                format!("physicalDisks names {disks}: remove one of the two fields, or make them agree"),
            );
        }
    }
    if let Some(first) = software.first().filter(|first| first.level != "1") {
        errors.invalid(
            "spec.raid.softwareRAIDVolumes[0].level",
            first.level.as_str(),
            "the first volume must have the level 1, since the host boots from it",
        );
    }
}

fn root_device(hints: Option<&RootDeviceHints>, errors: &mut Errors) {
    let name = hints.and_then(|hints| hints.device_name.as_deref()).unwrap_or_default();
    if name.is_empty() {
        return;
    }
    let below = name.strip_prefix("/dev/");
    let below = below.map(|below| below.strip_prefix("disk/by-path/").unwrap_or(below));
    if below.is_none_or(|below| below.contains('/')) {
        errors.invalid(
            "spec.rootDeviceHints.deviceName",
            name,
            "must be a name directly below /dev/ or /dev/disk/by-path/, such as /dev/vda",
        );
    }
}

/// Refuses references to Secrets of other namespaces.
pub fn own_namespace(field: &str, secret: Option<&SecretReference>, namespace: &str, errors: &mut Errors) {
    let other = secret.and_then(|secret| secret.namespace.as_deref()).unwrap_or_default();
    if !other.is_empty() && other != namespace {
        errors.invalid(
            field,
            other,
            format!("must be {namespace}, the namespace of the object itself, or empty"),
        );
    }
}

/// Checks fields that are immutable, or mutable only in certain states.
fn changes(old: &Value, new: &Value, errors: &mut Errors) {
    let text =
        |object: &Value, path: &[&str]| common::at(object, path).as_str().unwrap_or_default().to_owned();
    let state = text(new, &["status", "provisioning", "state"]);
    let is_detached = text(new, &["status", "operationalStatus"]) == "detached";
    let address = |object: &Value| text(object, &["spec", "bmc", "address"]);
    let free = is_detached || state == "registering";
    if !free && !address(old).is_empty() && address(old) != address(new) {
        errors.forbidden(
            ADDRESS,
            "can't be changed unless the host is registering or detached: add the annotation \
             baremetalhost.metal3.io/detached first, and remove it afterwards",
        );
    }
    let mac = |object: &Value| text(object, &["spec", "bootMACAddress"]);
    if !mac(old).is_empty() && !mac(old).eq_ignore_ascii_case(&mac(new)) {
        errors.forbidden(MAC_ADDRESS, "can't be changed once it is set: delete the host and make it anew");
    }
    let external = |object: &Value| common::at(object, &["spec", "externallyProvisioned"]) == true;
    if !external(old) && external(new) && !["available", "ready"].contains(&state.as_str()) {
        errors.forbidden(
            "spec.externallyProvisioned",
            format!("can only be set while the host is available; it is {state:?}"),
        );
    }
    if external(old) && !external(new) {
        errors.forbidden(
            "spec.externallyProvisioned",
            "can't be taken back: delete the host, which leaves its disks alone, and make it anew",
        );
    }
}
