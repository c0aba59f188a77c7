//! The IPMI commands that the client uses, and the parsing of their answers.

use super::message::Command;
use crate::{Boot, BootDevice, BootMode, Persistence, Power, PrivilegeLevel};

const CHASSIS: u8 = 0x00;
const APPLICATION: u8 = 0x06;
const STORAGE: u8 = 0x0a;

/// The number of the boot flags parameter (table 28-14).
const BOOT_FLAGS: u8 = 5;
/// The flag "boot flags valid".
const VALID: u8 = 0x80;
const PERSISTENT: u8 = 0x40;
const EFI: u8 = 0x20;

fn command(name: &'static str, function: u8, number: u8, data: &[u8]) -> Command {
    Command { name, function, number, data: data.to_vec() }
}

/// Outside of a session: asks for the controller's capabilities, with the IPMI 2.0 data, on the current channel.
pub(crate) fn authentication_capabilities() -> Command {
    command(
        "Get Channel Authentication Capabilities",
        APPLICATION,
        0x38,
        &[0x8e, PrivilegeLevel::Administrator as u8],
    )
}

/// Returns whether the answer to [`authentication_capabilities`] says that IPMI 2.0 sessions can be made.
pub fn has_version_2(data: &[u8]) -> bool {
    data.get(1).is_some_and(|support| support & 0x80 != 0) && data.get(3).is_some_and(|more| more & 2 != 0)
}

pub(crate) fn set_privilege(privilege: PrivilegeLevel) -> Command {
    command("Set Session Privilege Level", APPLICATION, 0x3b, &[privilege as u8])
}

pub(crate) fn close_session(session: u32) -> Command {
    command("Close Session", APPLICATION, 0x3c, &session.to_le_bytes())
}

pub(crate) fn chassis_status() -> Command {
    command("Get Chassis Status", CHASSIS, 0x01, &[])
}

/// Returns the power state in the answer to [`chassis_status`].
pub fn power(data: &[u8]) -> Power {
    match data.first() {
        Some(state) if state & 1 == 1 => Power::On,
        Some(_) => Power::Off,
        None => Power::Unknown,
    }
}

/// The actions of Chassis Control (table 28-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Control {
    Down = 0,
    Up = 1,
    Reset = 3,
    Interrupt = 4,
    SoftDown = 5,
}

pub(crate) fn chassis_control(control: Control) -> Command {
    command("Chassis Control", CHASSIS, 0x02, &[control as u8])
}

/// Commands before the boot flags: they keep the flags from expiring after 60 s (bit 3 of parameter 3), and mark them as not yet used
/// (parameter 4). Controllers that lack either parameter work without it.
pub(crate) fn before_boot_flags() -> [Command; 2] {
    let set = |data: &[u8]| command("Set System Boot Options", CHASSIS, 0x08, data);
    [set(&[3, 0x08]), set(&[4, 0x01, 0x01])]
}

/// Returns the command that sets the boot flags for a device; `None` if IPMI does not have the device.
pub fn set_boot_flags(boot: &Boot) -> Option<Command> {
    let device = match boot.device {
        BootDevice::Network => 1,
        BootDevice::Disk => 2,
        BootDevice::VirtualMedia => 5,
        BootDevice::UefiHttp { .. } => return None,
    };
    let persistent = if boot.persistence == Persistence::Always { PERSISTENT } else { 0 };
    let mode = if boot.mode == Some(BootMode::Uefi) { EFI } else { 0 };
    let data = [BOOT_FLAGS, VALID | persistent | mode, device << 2, 0, 0, 0];
    Some(command("Set System Boot Options", CHASSIS, 0x08, &data))
}

pub(crate) fn boot_flags() -> Command {
    command("Get System Boot Options", CHASSIS, 0x09, &[BOOT_FLAGS, 0, 0])
}

/// Returns the boot device in the answer to [`boot_flags`].
pub fn boot(data: &[u8]) -> Option<Boot> {
    let flags = *data.get(2)?;
    if flags & VALID == 0 {
        return None;
    }
    let device = match (data.get(3)? >> 2) & 0x0f {
        1 => BootDevice::Network,
        2 => BootDevice::Disk,
        5 => BootDevice::VirtualMedia,
        _ => return None,
    };
    let persistence = if flags & PERSISTENT != 0 { Persistence::Always } else { Persistence::Once };
    let mode = Some(if flags & EFI != 0 { BootMode::Uefi } else { BootMode::Legacy });
    Some(Boot { device, persistence, mode })
}

pub(crate) fn device_id() -> Command {
    command("Get Device ID", APPLICATION, 0x01, &[])
}

/// Returns the firmware version of the controller in the answer to [`device_id`].
pub fn firmware_version(data: &[u8]) -> Option<String> {
    let (major, minor) = (*data.get(2)? & 0x7f, *data.get(3)?);
    Some(format!("{major}.{minor:02x}"))
}

pub(crate) fn system_guid() -> Command {
    command("Get System GUID", APPLICATION, 0x37, &[])
}

/// Returns the system's UUID. Controllers send it as SMBIOS stores it (the first three fields reversed), as IPMI specifies (all bytes
/// reversed), or in network order; the position of the version field shows which.
pub fn uuid(data: &[u8]) -> Option<String> {
    let bytes: [u8; 16] = data.get(..16)?.try_into().ok()?;
    if bytes.iter().all(|byte| *byte == 0) || bytes.iter().all(|byte| *byte == 0xff) {
        return None;
    }
    let mut smbios = bytes;
    smbios[..4].reverse();
    smbios[4..6].reverse();
    smbios[6..8].reverse();
    let mut turned = bytes;
    turned.reverse();
    let fits = |bytes: &[u8; 16]| (1..=5).contains(&(bytes[6] >> 4)) && bytes[8] >> 6 == 0b10;
    let found = [smbios, turned, bytes].into_iter().find(fits).unwrap_or(smbios);
    let hex: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

pub(crate) fn read_fru(offset: u16, count: u8) -> Command {
    let [low, high] = offset.to_le_bytes();
    command("Read FRU Data", STORAGE, 0x11, &[0, low, high, count])
}
