//! Decides which machine belongs to which host.

use engine::NamespacedName;
use engine::object::annotation;
use schemas::metal3::{BareMetalHost, HardwareData};
use schemas::netboot::Agent;

use crate::names::{SERIAL_NUMBER, SYSTEM_UUID};

/// Placeholders that board vendors leave in the serial number, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "0",
    "0123456789",
    "123456789",
    "default string",
    "n/a",
    "none",
    "not applicable",
    "not specified",
    "system serial number",
    "to be filled by o.e.m.",
    "unknown",
];

/// The identifying data of a host. If `spec.bootMACAddress` is set, only it counts.
///
/// The claims of a machine are no proof. A host with a MAC address matches the machine that has proved that its interface has this
/// address (`status.provenBy`), or that a person has approved. A host without one matches only a machine that a person has approved.
pub struct Identity<'a> {
    mac: Option<&'a str>,
    uuid: Option<&'a str>,
    serial: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// Returns the data of the host; the serial number may come from an inspection.
    pub fn of(host: &'a BareMetalHost, hardware: Option<&'a HardwareData>) -> Self {
        let inspected = || {
            let in_status = host.status.as_ref().and_then(|status| status.hardware.as_ref());
            let found = in_status.or_else(|| hardware?.spec.hardware.as_ref())?;
            found.system_vendor.as_ref()?.serial_number.as_deref()
        };
        Self {
            mac: host.spec.boot_mac_address.as_deref().filter(|mac| !mac.is_empty()),
            uuid: annotation(host, SYSTEM_UUID),
            serial: annotation(host, SERIAL_NUMBER).or_else(inspected),
        }
    }

    /// Returns whether the host has the MAC address of this agent's machine, and the machine is proven or approved.
    pub fn is_of(&self, agent: &Agent) -> bool {
        let Some(status) = &agent.status else { return false };
        let has_shown = status.proven_by.is_some() || is_approved(agent);
        let own = status.boot_mac_address.as_deref();
        has_shown && self.mac.is_some_and(|mac| own.is_some_and(|own| own.eq_ignore_ascii_case(mac)))
    }

    /// Returns whether the host has no MAC address, its other data match those of the machine, and a person has approved the machine.
    pub fn is_vouched_for(&self, agent: &Agent) -> bool {
        let Some(status) = agent.status.as_ref().filter(|_| self.mac.is_none() && is_approved(agent)) else {
            return false;
        };
        let is_uuid = |wanted: &str| {
            status
                .system_uuid
                .as_deref()
                .is_some_and(|own| !own.is_empty() && own.eq_ignore_ascii_case(wanted))
        };
        let is_serial = |wanted: &str| {
            let own = status.serial_number.as_deref().map(str::trim);
            own.is_some_and(|own| own == wanted.trim() && tells_apart(own))
        };
        match (self.uuid, self.serial) {
            (Some(uuid), _) => is_uuid(uuid),
            (None, Some(serial)) => is_serial(serial),
            (None, None) => false,
        }
    }
}

/// Returns whether a person has approved the machine.
pub(crate) fn is_approved(agent: &Agent) -> bool {
    agent.spec.approved == Some(true)
}

/// Returns whether the serial number is specific to a machine.
fn tells_apart(serial: &str) -> bool {
    !serial.is_empty() && !PLACEHOLDERS.contains(&serial.to_lowercase().as_str())
}

/// Returns the error message for a host that is not the only one to claim a machine.
pub fn conflict(machine: &str, host: &NamespacedName, claimants: &[NamespacedName]) -> String {
    let others: Vec<String> =
        claimants.iter().filter(|other| *other != host).map(ToString::to_string).collect();
    format!(
        "machine {machine} is claimed by another host too: {}; spec.bootMACAddress, or the annotations {SERIAL_NUMBER} and {SYSTEM_UUID}, \
         must name a machine at one host only: correct or delete the wrong one",
        others.join(", ")
    )
}

/// Returns whether a conflict message is about this machine.
pub fn is_of(conflict: &str, machine: &str) -> bool {
    is_conflict(conflict) && conflict.split(' ').nth(1) == Some(machine)
}

/// Returns whether an error message reports a conflict.
pub(crate) fn is_conflict(message: &str) -> bool {
    message.starts_with("machine ") && message.contains(" is claimed by another host too: ")
}
