//! The status that is written for an agent, and the instruction that it receives. Pure functions.

use std::collections::VecDeque;
use std::net::IpAddr;

use agent::protocol::{
    Action, Deployment, Enrolment, Erase, Image, Instruction, Progress, Report, RootDeviceHints, State,
};
use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::metal3::HardwareDetails;
use schemas::netboot::{Agent, AgentInstruction, AgentStatus};
use serde_json::{Value, json};

use super::Refusal;
use crate::directory::BootToken;
use crate::http::listener::fingerprint;
use crate::limits;
use crate::mac::MacAddress;

/// Seconds between two reports of an agent that has nothing new to report.
pub const REPORT_SECONDS: u64 = 5;
/// A machine that reported within this many seconds counts as running.
const ALIVE_SECONDS: i64 = 6;
/// How long a machine that was given a token must show it to enrol. Afterwards its firmware may have started it in another way.
const TOKEN: Duration = Duration::minutes(15);
/// How often `status.lastSeenTime` is written when nothing else has changed.
const HEARTBEAT: Duration = Duration::seconds(10);
/// How often progress and log lines are written.
const PROGRESS: Duration = Duration::seconds(1);
/// The log lines, and the characters of a line, that are kept.
const LOG_LINES: usize = 100;
const LOG_LINE: usize = 1000;

/// A machine that asks to enrol.
pub struct Newcomer<'a> {
    /// The request of the machine. Only its token is a proof.
    pub enrolment: &'a Enrolment,
    /// The SHA-256 checksum of its certificate.
    pub certificate: &'a str,
    /// The checksum of the endorsement key of its TPM, if it has proved that it has this TPM.
    pub endorsement: Option<&'a str>,
    /// The source address of the request.
    pub address: IpAddr,
    /// The machine that has leased this address.
    pub lease_holder: Option<MacAddress>,
    /// Whether the machine that it claims to be has a lease of another address.
    pub is_elsewhere: bool,
    /// The time of the machine's last report, which may be later than the recorded time.
    pub heard: Option<DateTime<Utc>>,
    /// The mode in which the firmware started the machine, if its lease shows it.
    pub boot_mode: Option<&'static str>,
    /// The tokens that this machine was given, each with whether it has been used.
    pub tokens: &'a [(BootToken, bool)],
    /// Whether the agent of this name belongs to a host.
    pub is_host: bool,
    /// Whether a person has approved the machine with this certificate.
    pub is_approved: bool,
}

impl Newcomer<'_> {
    /// Returns the checksum of the token that the machine shows.
    fn token(&self) -> Option<String> {
        self.enrolment.token.as_ref().map(|token| fingerprint(token.as_bytes()))
    }
}

/// The proof by which a machine was identified at its enrolment (`status.provenBy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The one-time token of its start.
    Token,
    /// The endorsement key of its TPM.
    EndorsementKey,
    /// The approval of a person.
    Approval,
}

impl Proof {
    fn name(self) -> &'static str {
        match self {
            Self::Token => "Token",
            Self::EndorsementKey => "EndorsementKey",
            Self::Approval => metal::names::APPROVAL,
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Token, Self::EndorsementKey, Self::Approval].into_iter().find(|proof| proof.name() == name)
    }
}

/// Checks the lengths of an enrolment before anything of it is stored.
///
/// # Errors
/// [`Refusal::Malformed`] if a value is too long or there are too many interfaces.
pub fn check(said: &Enrolment) -> Result<(), Refusal> {
    let words = [&said.system_uuid, &said.serial_number, &said.token].into_iter().flatten();
    let longest = words.chain([&said.boot_id, &said.version, &said.boot_mac_address]).map(String::len).max();
    if longest.is_some_and(|longest| longest > limits::WORD) {
        return Err(Refusal::Malformed(format!(
            "a word of the enrolment has more than {} bytes",
            limits::WORD
        )));
    }
    if said.mac_addresses.len() > limits::INTERFACES {
        let most = limits::INTERFACES;
        return Err(Refusal::Malformed(format!("a machine has at most {most} interfaces here")));
    }
    Ok(())
}

/// Returns the MAC address under which a machine enrols: that of the interface that it boots from, which must also hold the lease of
/// the address.
///
/// # Errors
/// [`Refusal::Malformed`] for an invalid MAC address; [`Refusal::Forbidden`] if another machine has the address.
pub fn name(
    said: &Enrolment,
    address: IpAddr,
    lease_holder: Option<MacAddress>,
) -> Result<MacAddress, Refusal> {
    let mac: MacAddress =
        said.boot_mac_address.parse().map_err(|error| Refusal::Malformed(format!("{error}")))?;
    match lease_holder {
        Some(holder) if holder != mac => Err(Refusal::Forbidden(format!(
            "{} is the address of machine {holder}, not of {mac}",
            address.to_canonical()
        ))),
        _ => Ok(mac),
    }
}

/// Returns the MAC addresses that a machine claims as its own.
pub fn interfaces(said: &Enrolment) -> impl Iterator<Item = MacAddress> + '_ {
    said.mac_addresses.iter().filter_map(|text| text.parse().ok())
}

/// Returns whether a machine may enrol as `mac`, and which proof identifies it. A machine without a proof never becomes a host.
///
/// # Errors
/// [`Refusal::Forbidden`] if the machine has another address, or already runs with another certificate; [`Refusal::Token`];
/// [`Refusal::Endorsement`] if the machine is known by another TPM; [`Refusal::Unproven`] if the machine is a host's and shows no
/// proof.
pub fn admit(
    newcomer: &Newcomer<'_>,
    mac: MacAddress,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> Result<Option<Proof>, Refusal> {
    let proven_by = known.and_then(|known| Proof::from_name(known.proven_by.as_deref()?));
    let is_known = newcomer.is_host || proven_by.is_some();
    // An endorsement key is pinned only with another proof; an unproven one must not lock the real machine out.
    let pinned = known.filter(|_| is_known).and_then(|known| known.endorsement_key_sha256.as_deref());
    if let Some(pinned) = pinned {
        // The TPM identifies the machine, even if its certificate has changed.
        let is_own = newcomer.endorsement == Some(pinned);
        return if is_own { Ok(Some(Proof::EndorsementKey)) } else { Err(other_tpm(mac, newcomer)) };
    }
    let is_same_start =
        known.is_some_and(|known| known.boot_id.as_deref() == Some(newcomer.enrolment.boot_id.as_str()));
    let certificate = known.and_then(|known| known.certificate_sha256.as_deref());
    if certificate == Some(newcomer.certificate) && is_same_start {
        return Ok(proven_by.or(newcomer.is_approved.then_some(Proof::Approval)));
    }
    let proof = match token(newcomer, now)? {
        true => Some(Proof::Token),
        false => newcomer.is_approved.then_some(Proof::Approval),
    };
    if proof.is_none() {
        may_be_unproven(newcomer, mac, is_known)?;
    }
    let is_another = certificate.is_some_and(|certificate| certificate != newcomer.certificate);
    // A machine that enrolled without a proof must not lock the real machine out.
    if !is_another || (proof.is_some() && !is_known) {
        return Ok(proof);
    }
    if is_same_start {
        return Err(Refusal::Forbidden(format!(
            "machine {mac} has enrolled with another certificate since it started: restart it"
        )));
    }
    let written = known.and_then(|known| known.last_seen_time.as_deref()).and_then(parse_rfc3339);
    if newcomer.heard.max(written).is_some_and(|seen| now - seen < Duration::seconds(ALIVE_SECONDS)) {
        return Err(Refusal::Forbidden(format!(
            "machine {mac} still runs with another certificate: try again in {ALIVE_SECONDS} s"
        )));
    }
    Ok(proof)
}

/// Refuses a machine without a proof if it would take the place of a host or of a machine with a lease. Otherwise it may enrol, so that
/// a person can look at it.
fn may_be_unproven(newcomer: &Newcomer<'_>, mac: MacAddress, is_known: bool) -> Result<(), Refusal> {
    let has_lease = newcomer.lease_holder.is_some();
    if newcomer.is_host {
        return Err(Refusal::Unproven(format!(
            "machine {mac} is a host, and nothing shows that this is it: neither the one-time token of a start that this server saw, nor its \
             TPM. If it was started on purpose: firstlight metal approve {}",
            mac.dashed()
        )));
    }
    if !has_lease && (is_known || newcomer.is_elsewhere) {
        return Err(Refusal::Forbidden(format!(
            "machine {mac} is known, and {} is not its address",
            newcomer.address.to_canonical()
        )));
    }
    Ok(())
}

fn other_tpm(mac: MacAddress, newcomer: &Newcomer<'_>) -> Refusal {
    let shown = if newcomer.endorsement.is_some() { "another one" } else { "none" };
    Refusal::Endorsement(format!(
        "machine {mac} is known by the endorsement key of its TPM, and now shows {shown}: it may be another machine. If its mainboard or TPM was \
         exchanged, switched off or reset, let it be known anew: kubectl delete agents.netboot.firstlight.dev {}",
        mac.dashed()
    ))
}

/// Returns whether the newcomer shows a valid token. A machine that was given an unused token must show it, and a used token is
/// refused.
fn token(newcomer: &Newcomer<'_>, now: DateTime<Utc>) -> Result<bool, Refusal> {
    let unused = |told: &&(BootToken, bool)| !told.1 && now - told.0.time < TOKEN;
    match newcomer.token() {
        Some(shown) => match newcomer.tokens.iter().find(|(told, _)| told.sha256 == shown) {
            Some((_, false)) => Ok(true),
            Some((_, true)) => Err(Refusal::Token("has been used before")),
            None => Err(Refusal::Token("is not the one that it was told last")),
        },
        None if newcomer.tokens.iter().any(|told| unused(&told)) => {
            Err(Refusal::Token("is missing, although it was told one"))
        }
        None => Ok(false),
    }
}

/// Returns whether the same enrolment was written less than [`limits::ENROLLED_AGAIN`] ago.
pub fn is_again(
    newcomer: &Newcomer<'_>,
    proof: Option<Proof>,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> bool {
    known.is_some_and(|known| {
        let seen = known.last_seen_time.as_deref().and_then(parse_rfc3339);
        known.certificate_sha256.as_deref() == Some(newcomer.certificate)
            && known.boot_id.as_deref() == Some(newcomer.enrolment.boot_id.as_str())
            && known.proven_by.as_deref() == proof.map(Proof::name)
            && seen.is_some_and(|seen| now - seen < limits::duration(limits::ENROLLED_AGAIN))
    })
}

/// Returns the status of a machine that has enrolled, as a merge patch. Instruction and log of an earlier start are removed.
pub fn enrolled(
    newcomer: &Newcomer<'_>,
    mac: MacAddress,
    proof: Option<Proof>,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> Value {
    let said = newcomer.enrolment;
    let mut status = json!({
        "bootMACAddress": mac.to_string(),
        "macAddresses": interfaces(said).map(|mac| mac.to_string()).collect::<Vec<_>>(),
        "systemUUID": said.system_uuid.as_deref().map(|text| plain(&text.to_lowercase())),
        "serialNumber": said.serial_number.as_deref().map(plain),
        "address": newcomer.address.to_canonical().to_string(),
        "bootID": plain(&said.boot_id),
        "version": plain(&said.version),
        "certificateSHA256": newcomer.certificate,
        "endorsementKeySHA256": newcomer.endorsement,
        "provenBy": proof.map(Proof::name),
        "lastSeenTime": rfc3339(now),
    });
    if let Some(mode) = newcomer.boot_mode {
        status["bootMode"] = mode.into();
    }
    // A used token stays used, even if the machine later starts without one, so the field is never reset.
    if let Some(token) = newcomer.token() {
        status["bootTokenSHA256"] = token.into();
    }
    if known.is_some_and(|known| {
        known.boot_id.as_deref() != Some(said.boot_id.as_str())
            || known.certificate_sha256.as_deref() != Some(newcomer.certificate)
    }) {
        status["instruction"] = Value::Null;
        status["log"] = Value::Null;
        // A machine without a proof must not inherit the hardware details that another machine reported.
        if proof.is_none() {
            status["hardware"] = Value::Null;
        }
    }
    json!({ "status": status })
}

/// Returns the instruction for the current start of the machine, or `None` if there is no instruction or it was meant for an earlier
/// start.
pub fn instruction(agent: &Agent) -> Option<Instruction> {
    let spec = agent.spec.instruction.as_ref()?;
    let running = agent.status.as_ref().and_then(|status| status.boot_id.as_deref());
    if spec.boot_id.is_some() && spec.boot_id.as_deref() != running {
        return None;
    }
    let action = action(spec);
    if action.is_none() {
        tracing::warn!(id = spec.id, action = spec.action, "an instruction that no agent knows");
    }
    Some(Instruction { id: spec.id.clone(), action: action? })
}

fn action(spec: &AgentInstruction) -> Option<Action> {
    Some(match spec.action.as_str() {
        "Wait" => Action::Wait,
        "Inspect" => Action::Inspect,
        "Clean" => Action::Clean {
            erase: if spec.erase.as_deref() == Some("Everything") {
                Erase::Everything
            } else {
                Erase::Metadata
            },
        },
        "Deploy" => Action::Deploy(Box::new(deployment(spec)?)),
        "Restart" => Action::Restart,
        "PowerOff" => Action::PowerOff,
        _ => return None,
    })
}

fn deployment(spec: &AgentInstruction) -> Option<Deployment> {
    let image = spec.image.as_ref()?;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let hints = spec.root_device_hints.as_ref();
    // The fields have the same names in both types.
    let hints: Option<RootDeviceHints> = hints.map_or(Some(RootDeviceHints::default()), |hints| {
        serde_json::from_value(serde_json::to_value(hints).ok()?).ok()
    });
    Some(Deployment {
        image: Image {
            url: image.url.clone(),
            checksum: text(&image.checksum),
            checksum_type: text(&image.checksum_type),
            format: text(&image.format),
        },
        root_device_hints: hints?,
        config_drive: spec.config_drive.unwrap_or(false),
    })
}

/// Returns whether the instruction `id` is the one that the agent last finished (`after`). Agents omit characters that a query would
/// have to escape.
pub fn is_same(id: &str, after: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || "-._~".contains(*c)).collect()
    };
    id == after || plain(id) == plain(after)
}

/// The latest report of a machine, and how much of it has been written to the API.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    log: VecDeque<String>,
    has_new_lines: bool,
    progress: Option<Progress>,
    begun: Option<DateTime<Utc>>,
    ended: Option<DateTime<Utc>>,
    written: Option<DateTime<Utc>>,
    heard: Option<DateTime<Utc>>,
    is_new: bool,
    /// The start of the period in which urgent writes are counted, and their number since then.
    urgent: (Option<DateTime<Utc>>, u32),
    hardware: Option<HardwareDetails>,
}

impl Reported {
    /// Starts from the recorded status, so that an instruction keeps its times and the log its lines when the server restarts.
    pub fn from_status(status: &AgentStatus) -> Self {
        let time = |text: &Option<String>| text.as_deref().and_then(parse_rfc3339);
        let instruction = status.instruction.as_ref();
        let progress = instruction.map(|instruction| Progress {
            id: instruction.id.clone(),
            state: match instruction.state.as_str() {
                "Done" => State::Done,
                "Failed" => State::Failed,
                _ => State::Running,
            },
            message: instruction.message.clone().unwrap_or_default(),
            done: instruction.bytes_done.and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
            total: instruction.bytes_total.and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
        });
        Self {
            log: status.log.iter().cloned().collect(),
            progress,
            begun: instruction.and_then(|instruction| time(&instruction.start_time)),
            ended: instruction.and_then(|instruction| time(&instruction.end_time)),
            ..Self::default()
        }
    }

    /// Takes in a report, and returns the status as a merge patch if it is due to be written. Data that is not written now is written
    /// with a later report: agents report at least every [`REPORT_SECONDS`].
    ///
    /// # Errors
    /// [`Refusal::Malformed`] for an inventory that Metal3 could not read, and for an instruction identifier that is too long.
    pub fn take(
        &mut self,
        report: Report,
        is_host: bool,
        now: DateTime<Utc>,
    ) -> Result<Option<Value>, Refusal> {
        self.heard = Some(now);
        let hardware = report.inventory.map(serde_json::from_value::<HardwareDetails>).transpose();
        let hardware = hardware.map_err(|error| Refusal::Malformed(format!("the inventory: {error}")))?;
        if report.instruction.as_ref().is_some_and(|progress| progress.id.len() > limits::WORD) {
            return Err(Refusal::Malformed(format!(
                "an instruction's id has at most {} bytes",
                limits::WORD
            )));
        }
        for line in report.log.into_iter().flat_map(|text| lines(&text)) {
            self.log.push_back(line);
            self.has_new_lines = true;
        }
        self.shorten(if is_host { limits::LOG } else { limits::UNKNOWN_LOG });
        let mut is_urgent = hardware.is_some();
        if hardware.is_some() {
            (self.hardware, self.is_new) = (hardware, true);
        }
        if let Some(progress) = report.instruction {
            is_urgent |= self.progresses(progress, now);
        }
        is_urgent = is_urgent && self.has_turn(now);
        let since = self.written.map_or(HEARTBEAT, |written| now - written);
        let is_due = since >= HEARTBEAT || (since >= PROGRESS && (self.is_new || self.has_new_lines));
        if !is_urgent && !is_due {
            return Ok(None);
        }
        let mut status = json!({ "lastSeenTime": rfc3339(now) });
        if let Some(hardware) = self.hardware.take() {
            status["hardware"] = serde_json::to_value(hardware).unwrap_or_default();
        }
        if self.has_new_lines {
            status["log"] = self.log.iter().cloned().collect();
        }
        if let Some(progress) = &self.progress {
            status["instruction"] = self.instruction(progress);
        }
        self.written = Some(now);
        (self.is_new, self.has_new_lines) = (false, false);
        Ok(Some(json!({ "status": status })))
    }

    /// Drops the oldest log lines beyond [`LOG_LINES`] and beyond `room` bytes.
    fn shorten(&mut self, room: usize) {
        let mut bytes = 0;
        let fits = self.log.iter().rev().take(LOG_LINES).take_while(|line| {
            bytes += line.len();
            bytes <= room
        });
        let kept = fits.count();
        self.log.drain(..self.log.len() - kept);
    }

    /// Returns whether another urgent write is allowed in this period.
    fn has_turn(&mut self, now: DateTime<Utc>) -> bool {
        let (since, count) = &mut self.urgent;
        if since.is_none_or(|since| now - since >= HEARTBEAT) {
            (*since, *count) = (Some(now), 0);
        }
        *count += 1;
        *count <= limits::URGENT_WRITES
    }

    /// Returns the time of the last report.
    pub fn heard(&self) -> Option<DateTime<Utc>> {
        self.heard
    }

    /// Records that the last patch could not be written, so that the next report writes it.
    pub fn not_written(&mut self) {
        self.written = None;
        (self.is_new, self.has_new_lines) = (true, true);
    }

    /// Takes in progress, and returns whether the instruction or its state is a different one.
    fn progresses(&mut self, progress: Progress, now: DateTime<Utc>) -> bool {
        let before = self.progress.as_ref();
        let is_other = before.is_none_or(|before| before.id != progress.id);
        let is_urgent = is_other || before.is_some_and(|before| before.state != progress.state);
        if is_other {
            self.begun = Some(now);
        }
        if is_urgent {
            self.ended = (progress.state != State::Running).then_some(now);
        }
        self.is_new |= before != Some(&progress);
        self.progress = Some(progress);
        is_urgent
    }

    fn instruction(&self, progress: &Progress) -> Value {
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        json!({
            "id": progress.id,
            "state": match progress.state {
                State::Running => "Running",
                State::Done => "Done",
                State::Failed => "Failed",
            },
            "message": plain_message(&progress.message),
            "bytesDone": bytes(progress.done),
            "bytesTotal": (progress.total > 0).then_some(bytes(progress.total)),
            "startTime": self.begun.map(rfc3339),
            "endTime": self.ended.map(rfc3339),
        })
    }
}

/// Returns the text without control characters, which a terminal would act on.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn plain_message(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').take(limits::PROGRESS_MESSAGE).collect()
}

/// Returns the lines of a text without control characters, each shortened to [`LOG_LINE`] characters.
fn lines(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).take(LOG_LINE).collect();
    text.lines().map(clean).collect()
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
