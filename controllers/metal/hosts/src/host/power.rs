//! Starts the agent of a machine, and keeps the machine's power as wanted.

use agent_protocol::{Action, State};
use bmc::{BootDevice, Power};
use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE};
use machinery::clock::parse_rfc3339;

use super::annotations;
use super::draft::Draft;
use super::drive;
use super::observed::{BootImage, Means, Observed};
use super::states::firmware;
use crate::control::Command;
use crate::limits;
use crate::names::{BOOTING, ErrorType, POWERED, WAITING_FOR_OPERATOR};

/// Returns whether the machine's agent runs. If it does not, the machine is started with its agent; if the agent does not appear in
/// time, that is a failure of the kind `error`.
pub(super) fn ensure_agent(observed: &Observed, draft: &mut Draft, error: ErrorType) -> bool {
    if let Some(agent) = &observed.agent
        && !agent.is_gone
    {
        eject_agent(observed, draft);
        draft.annotations().remove(BOOTING);
        if observed.means.is_by_hand() {
            note_by_hand(draft, "on");
        }
        ask_operator(observed, draft, None);
        return true;
    }
    match booting_since(observed) {
        Some(since) => await_agent(observed, draft, since, error),
        None => start_agent(observed, draft, error),
    }
    false
}

fn booting_since(observed: &Observed) -> Option<DateTime<Utc>> {
    parse_rfc3339(observed.annotation(BOOTING)?)
}

/// Starts the agent. A machine that is on runs another system and is switched off first. The reconciler waits out earlier failures.
fn start_agent(observed: &Observed, draft: &mut Draft, error: ErrorType) {
    match observed.power {
        Err(_) => report_power_fault(observed, draft),
        Ok(Power::On) if !observed.means.is_by_hand() => {
            draft.command(Command::HardOff);
            draft.again_after(limits::POWER_CHANGE);
        }
        Ok(Power::Off | Power::Unknown | Power::On) => {
            let Some(way) = way_to_agent(observed, draft, error) else { return };
            draft.commands(way);
            draft.command(Command::PowerOn);
            let now = observed.now();
            draft.annotations().insert(BOOTING.to_owned(), now);
            match observed.means {
                Means::Manual => ask_operator(observed, draft, Some("start the machine from the network")),
                Means::WakeOnLan => note_by_hand(draft, "on"),
                _ => {}
            }
        }
    }
}

/// Returns the commands that select the agent's boot device; `None` if it is not available yet.
fn way_to_agent(observed: &Observed, draft: &mut Draft, error: ErrorType) -> Option<Vec<Command>> {
    if !observed.means.boots_media() {
        return Some(vec![Command::Boot(BootDevice::Network)]);
    }
    if observed.host.spec.boot_mode.as_deref() == Some("legacy") {
        let message = "spec.bootMode is legacy, and the agent's virtual media starts machines with UEFI only: set it to UEFI, or use an \
                       address of redfish:// for a start over the network";
        draft.fail(error, message);
        return None;
    }
    draft.ask_boot_image();
    match &observed.boot_image {
        BootImage::Ready(url) => {
            Some(vec![Command::Insert(url.clone()), Command::Boot(BootDevice::VirtualMedia)])
        }
        BootImage::Failed(message) => {
            let message = message.clone();
            draft.fail(error, message);
            None
        }
        // An event of the PreprovisioningImage causes the next reconcile.
        BootImage::Awaited => None,
    }
}

/// Ejects the agent's image from the drive. The agent runs from memory, and nothing must read the image afterwards.
pub(super) fn eject_agent(observed: &Observed, draft: &mut Draft) {
    if observed.means.boots_media() && observed.annotation(BOOTING).is_some() {
        draft.command(Command::Eject);
    }
}

fn await_agent(observed: &Observed, draft: &mut Draft, since: DateTime<Utc>, error: ErrorType) {
    // There is no deadline for a person.
    if observed.means == Means::Manual {
        return;
    }
    let waited = (observed.now - since).to_std().unwrap_or_default();
    let is_by_hand = observed.means.is_by_hand();
    // If the BMC reports the machine as off for this long after switching it on, that is a failure.
    if !is_by_hand && observed.power == Ok(Power::Off) && waited >= limits::POWER_ON {
        draft.annotations().remove(BOOTING);
        let message = format!(
            "the machine was switched on {} s ago, and its BMC says that it is off: look whether it has power and why it stops, or reset its BMC",
            waited.as_secs()
        );
        draft.fail(ErrorType::PowerManagement, message);
        return;
    }
    match limits::BOOT.checked_sub(waited) {
        Some(left) if !left.is_zero() => {
            draft.again_after(left);
            if !is_by_hand {
                let until = limits::POWER_ON.checked_sub(waited).filter(|left| !left.is_zero());
                draft.again_after(until.unwrap_or(limits::POWER_POLL));
            }
        }
        _ => {
            draft.annotations().remove(BOOTING);
            let message = silence(observed);
            draft.fail(error, message);
        }
    }
}

/// Returns the message for a machine whose agent has not appeared.
fn silence(observed: &Observed) -> String {
    let minutes = limits::BOOT.as_secs() / 60;
    let mac = observed.host.spec.boot_mac_address.as_deref();
    let mac = mac.unwrap_or("(spec.bootMACAddress is not set)");
    let (from, checks) = match observed.means.boots_media() {
        true => (
            "from virtual media",
            "that its BMC can read the image (status.imageUrl of the PreprovisioningImage with the host's name), that the machine has an address \
             in a network that leads here (by DHCP, or by spec.preprovisioningNetworkDataName)"
                .to_owned(),
        ),
        false => (
            "over the network",
            format!(
                "that it starts from the interface with MAC address {mac}, that this interface's network is the one that is served"
            ),
        ),
    };
    format!(
        "the machine was started {from} {minutes} minutes ago and its agent has not called back: look at its console; check {checks}, and that \
         it has the memory that the agent needs"
    )
}

/// Records a fault of the BMC; the back-off of the reconciler causes the retry.
pub(super) fn report_power_fault(observed: &Observed, draft: &mut Draft) {
    if let Err(fault) = &observed.power {
        let message = fault.message.clone();
        draft.fail(ErrorType::PowerManagement, message);
    }
}

/// Sets the condition with the request to a person, or marks it as done.
pub(super) fn ask_operator(observed: &Observed, draft: &mut Draft, request: Option<&str>) {
    let (host, now) = (draft.host(), observed.now);
    let is_asked = host.status.as_ref().is_some_and(|status| {
        status.conditions.iter().any(|condition| condition.type_ == WAITING_FOR_OPERATOR)
    });
    match request {
        Some(request) => {
            let name = host.metadata.name.as_deref().unwrap_or_default();
            let message = format!("{name}: {request}, then run: firstlight metal power-on {name}");
            conditions::set(host, now, conditions::new(WAITING_FOR_OPERATOR, TRUE, "SwitchOn", message));
        }
        None if is_asked => {
            conditions::set(host, now, conditions::new(WAITING_FOR_OPERATOR, FALSE, "Done", ""));
        }
        None => {}
    }
}

/// Changes the power to the state that `spec.online` and the reboot annotations request. Returns whether it has that state.
pub(super) fn keep_power(observed: &Observed, draft: &mut Draft, honours_reboots: bool) -> bool {
    if observed.means == Means::None {
        return true;
    }
    if !observed.means.is_by_hand() {
        draft.again_after(limits::POWER_POLL);
    }
    let power = match &observed.power {
        Ok(power) => *power,
        Err(_) => {
            report_power_fault(observed, draft);
            return false;
        }
    };
    if observed.was().error_type.as_deref() == Some(ErrorType::PowerManagement.name()) {
        draft.recover();
    }
    let reboot = reboot_wanted(observed, draft, honours_reboots, power);
    let wants_on = observed.host.spec.online && reboot.is_none();
    match (power, wants_on) {
        (Power::Off, true) => {
            if honours_reboots
                && !(firmware::service_firmware(observed, draft) && drive::fill_drive(observed, draft))
            {
                return false;
            }
            draft.event("PowerOn", "Host powered on");
            switch_on(observed, draft);
            false
        }
        (Power::On, false) => {
            let is_hard = reboot.is_some_and(|reboot| reboot.is_hard) || observed.was().error_count > 0;
            switch_off(observed, draft, is_hard);
            false
        }
        _ => {
            draft.succeed();
            true
        }
    }
}

/// Returns the reboot that is requested and not done yet. The annotation without a suffix is removed once the machine is off.
fn reboot_wanted(
    observed: &Observed,
    draft: &mut Draft,
    honours: bool,
    power: Power,
) -> Option<annotations::Reboot> {
    let reboot = annotations::reboot(observed.host.metadata.annotations.as_ref()?)?;
    if !honours && !reboot.is_forced {
        return None;
    }
    if power == Power::Off {
        draft.annotations().remove(crate::names::REBOOT);
        return reboot.is_held.then_some(reboot);
    }
    Some(reboot)
}

pub(super) fn switch_on(observed: &Observed, draft: &mut Draft) {
    if observed.means == Means::Manual {
        ask_operator(observed, draft, Some("switch the machine on"));
        return;
    }
    if observed.means == Means::WakeOnLan {
        // It is unknown whether the machine woke up, so it counts as on, and no further packets are sent.
        note_by_hand(draft, "on");
    }
    draft.command(Command::PowerOn);
    draft.again_after(limits::POWER_CHANGE);
}

/// Records the power state of a machine without a BMC.
fn note_by_hand(draft: &mut Draft, power: &str) {
    draft.annotations().insert(POWERED.to_owned(), power.to_owned());
}

/// Switches the machine off, softly if possible. A machine without a BMC is switched off by its agent or by a person.
pub(super) fn switch_off(observed: &Observed, draft: &mut Draft, is_hard: bool) {
    if observed.means.is_by_hand() {
        switch_off_by_hand(observed, draft);
        return;
    }
    draft.event("PowerOff", if is_hard { "Host powered off" } else { "Host soft powered off" });
    draft.command(if is_hard { Command::HardOff } else { Command::SoftOff });
    draft.again_after(limits::POWER_CHANGE);
}

fn switch_off_by_hand(observed: &Observed, draft: &mut Draft) {
    let id = format!("power-off/{}", observed.host.metadata.generation.unwrap_or_default());
    match &observed.agent {
        Some(agent) if !agent.is_gone && agent.id == id && agent.state == Some(State::Done) => {
            note_by_hand(draft, "off")
        }
        Some(agent) if !agent.is_gone => draft.instruct(id, Action::PowerOff),
        _ => ask_operator(observed, draft, Some("switch the machine off")),
    }
}
