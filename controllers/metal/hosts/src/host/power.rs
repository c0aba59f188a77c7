//! Starts the agent of a machine, and keeps the machine's power as wanted.

use agent_protocol::{Action, State};
use bmc::{BootDevice, Power};
use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE};
use machinery::clock::parse_rfc3339;

use super::annotations;
use super::observed::{BootImage, Means};
use super::plan::Planner;
use crate::control::Command;
use crate::limits;
use crate::names::{BOOTING, ErrorType, POWERED, WAITING_FOR_OPERATOR};

impl Planner<'_> {
    /// Returns whether the machine's agent runs. If it does not, the machine is started with its agent; if the agent does not appear in
    /// time, that is a failure of the kind `error`.
    pub(super) fn ensure_agent(&mut self, error: ErrorType) -> bool {
        if let Some(agent) = &self.observed.agent
            && !agent.is_gone
        {
            self.eject_agent();
            self.annotations().remove(BOOTING);
            if self.observed.means.is_by_hand() {
                self.note_by_hand("on");
            }
            self.ask_operator(None);
            return true;
        }
        match self.booting_since() {
            Some(since) => self.await_agent(since, error),
            None => self.start_agent(error),
        }
        false
    }

    fn booting_since(&self) -> Option<DateTime<Utc>> {
        parse_rfc3339(self.annotation(BOOTING)?)
    }

    /// Starts the agent. A machine that is on runs another system and is switched off first. The reconciler waits out earlier failures.
    fn start_agent(&mut self, error: ErrorType) {
        match self.observed.power {
            Err(_) => self.report_power_fault(),
            Ok(Power::On) if !self.observed.means.is_by_hand() => {
                self.plan.commands.push(Command::HardOff);
                self.again_after(limits::POWER_CHANGE);
            }
            Ok(Power::Off | Power::Unknown | Power::On) => {
                let Some(way) = self.way_to_agent(error) else { return };
                self.plan.commands.extend(way);
                self.plan.commands.push(Command::PowerOn);
                let now = self.now();
                self.annotations().insert(BOOTING.to_owned(), now);
                match self.observed.means {
                    Means::Manual => self.ask_operator(Some("start the machine from the network")),
                    Means::WakeOnLan => self.note_by_hand("on"),
                    _ => {}
                }
            }
        }
    }

    /// Returns the commands that select the agent's boot device; `None` if it is not available yet.
    fn way_to_agent(&mut self, error: ErrorType) -> Option<Vec<Command>> {
        if !self.observed.means.boots_media() {
            return Some(vec![Command::Boot(BootDevice::Network)]);
        }
        if self.observed.host.spec.boot_mode.as_deref() == Some("legacy") {
            let message = "spec.bootMode is legacy, and the agent's virtual media starts machines with UEFI only: set it to UEFI, or use an \
                           address of redfish:// for a start over the network";
            self.fail(error, message);
            return None;
        }
        self.plan.asks_boot_image = true;
        match &self.observed.boot_image {
            BootImage::Ready(url) => {
                Some(vec![Command::Insert(url.clone()), Command::Boot(BootDevice::VirtualMedia)])
            }
            BootImage::Failed(message) => {
                let message = message.clone();
                self.fail(error, message);
                None
            }
            // An event of the PreprovisioningImage causes the next reconcile.
            BootImage::Awaited => None,
        }
    }

    /// Ejects the agent's image from the drive. The agent runs from memory, and nothing must read the image afterwards.
    pub(super) fn eject_agent(&mut self) {
        if self.observed.means.boots_media() && self.annotation(BOOTING).is_some() {
            self.plan.commands.push(Command::Eject);
        }
    }

    fn await_agent(&mut self, since: DateTime<Utc>, error: ErrorType) {
        // There is no deadline for a person.
        if self.observed.means == Means::Manual {
            return;
        }
        let waited = (self.observed.now - since).to_std().unwrap_or_default();
        let is_by_hand = self.observed.means.is_by_hand();
        // If the BMC reports the machine as off for this long after switching it on, that is a failure.
        if !is_by_hand && self.observed.power == Ok(Power::Off) && waited >= limits::POWER_ON {
            self.annotations().remove(BOOTING);
            let message = format!(
                "the machine was switched on {} s ago, and its BMC says that it is off: look whether it has power and why it stops, or reset its BMC",
                waited.as_secs()
            );
            self.fail(ErrorType::PowerManagement, message);
            return;
        }
        match limits::BOOT.checked_sub(waited) {
            Some(left) if !left.is_zero() => {
                self.again_after(left);
                if !is_by_hand {
                    let until = limits::POWER_ON.checked_sub(waited).filter(|left| !left.is_zero());
                    self.again_after(until.unwrap_or(limits::POWER_POLL));
                }
            }
            _ => {
                self.annotations().remove(BOOTING);
                let message = self.silence();
                self.fail(error, message);
            }
        }
    }

    /// Returns the message for a machine whose agent has not appeared.
    fn silence(&self) -> String {
        let minutes = limits::BOOT.as_secs() / 60;
        let mac = self.observed.host.spec.boot_mac_address.as_deref();
        let mac = mac.unwrap_or("(spec.bootMACAddress is not set)");
        let (from, checks) = match self.observed.means.boots_media() {
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
    pub(super) fn report_power_fault(&mut self) {
        if let Err(fault) = &self.observed.power {
            let message = fault.message.clone();
            self.fail(ErrorType::PowerManagement, message);
        }
    }

    /// Sets the condition with the request to a person, or marks it as done.
    pub(super) fn ask_operator(&mut self, request: Option<&str>) {
        let (host, now) = (&mut self.plan.host, self.observed.now);
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
    pub(super) fn keep_power(&mut self, honours_reboots: bool) -> bool {
        if self.observed.means == Means::None {
            return true;
        }
        if !self.observed.means.is_by_hand() {
            self.again_after(limits::POWER_POLL);
        }
        let power = match &self.observed.power {
            Ok(power) => *power,
            Err(_) => {
                self.report_power_fault();
                return false;
            }
        };
        if self.was().error_type.as_deref() == Some(ErrorType::PowerManagement.name()) {
            self.recover();
        }
        let reboot = self.reboot_wanted(honours_reboots, power);
        let wants_on = self.observed.host.spec.online && reboot.is_none();
        match (power, wants_on) {
            (Power::Off, true) => {
                if honours_reboots && !(self.service_firmware() && self.fill_drive()) {
                    return false;
                }
                self.event("PowerOn", "Host powered on");
                self.switch_on();
                false
            }
            (Power::On, false) => {
                let is_hard = reboot.is_some_and(|reboot| reboot.is_hard) || self.was().error_count > 0;
                self.switch_off(is_hard);
                false
            }
            _ => {
                self.succeed();
                true
            }
        }
    }

    /// Returns the reboot that is requested and not done yet. The annotation without a suffix is removed once the machine is off.
    fn reboot_wanted(&mut self, honours: bool, power: Power) -> Option<annotations::Reboot> {
        let reboot = annotations::reboot(self.observed.host.metadata.annotations.as_ref()?)?;
        if !honours && !reboot.is_forced {
            return None;
        }
        if power == Power::Off {
            self.annotations().remove(crate::names::REBOOT);
            return reboot.is_held.then_some(reboot);
        }
        Some(reboot)
    }

    pub(super) fn switch_on(&mut self) {
        if self.observed.means == Means::Manual {
            self.ask_operator(Some("switch the machine on"));
            return;
        }
        if self.observed.means == Means::WakeOnLan {
            // It is unknown whether the machine woke up, so it counts as on, and no further packets are sent.
            self.note_by_hand("on");
        }
        self.plan.commands.push(Command::PowerOn);
        self.again_after(limits::POWER_CHANGE);
    }

    /// Records the power state of a machine without a BMC.
    fn note_by_hand(&mut self, power: &str) {
        self.annotations().insert(POWERED.to_owned(), power.to_owned());
    }

    /// Switches the machine off, softly if possible. A machine without a BMC is switched off by its agent or by a person.
    pub(super) fn switch_off(&mut self, is_hard: bool) {
        if self.observed.means.is_by_hand() {
            self.switch_off_by_hand();
            return;
        }
        self.event("PowerOff", if is_hard { "Host powered off" } else { "Host soft powered off" });
        self.plan.commands.push(if is_hard { Command::HardOff } else { Command::SoftOff });
        self.again_after(limits::POWER_CHANGE);
    }

    fn switch_off_by_hand(&mut self) {
        let id = format!("power-off/{}", self.observed.host.metadata.generation.unwrap_or_default());
        match &self.observed.agent {
            Some(agent) if !agent.is_gone && agent.id == id && agent.state == Some(State::Done) => {
                self.note_by_hand("off")
            }
            Some(agent) if !agent.is_gone => self.instruct(id, Action::PowerOff),
            _ => self.ask_operator(Some("switch the machine off")),
        }
    }
}
