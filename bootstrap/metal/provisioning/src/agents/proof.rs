//! Decides which machine an agent may enrol as, and what its `Agent` object records. Pure.

use std::net::IpAddr;

use agent_protocol::Enrolment;
use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::netboot::AgentStatus;
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::directory::BootToken;
use crate::fingerprint::fingerprint;
use crate::limits;

/// A machine that reported within this many seconds counts as running.
const ALIVE_SECONDS: i64 = 6;
/// How long a machine that was given a token must show it to enrol. Afterwards its firmware may have started it in another way.
const TOKEN: Duration = Duration::minutes(15);

/// A machine that asks to enrol: what it says and what is known of it.
pub struct EnrolRequest<'a> {
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

impl EnrolRequest<'_> {
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
/// [`Refusal::Limit`] if a value is too long or there are too many interfaces.
pub fn check(said: &Enrolment) -> Result<(), Refusal> {
    let words = [&said.system_uuid, &said.serial_number, &said.token].into_iter().flatten();
    let longest = words.chain([&said.boot_id, &said.version, &said.boot_mac_address]).map(String::len).max();
    if longest.is_some_and(|longest| longest > limits::WORD) {
        let message = format!("a word of the enrolment has more than {} bytes", limits::WORD);
        return Err(Refusal::Limit("netboot_word", message));
    }
    if said.mac_addresses.len() > limits::INTERFACES {
        let most = limits::INTERFACES;
        let message = format!("a machine has at most {most} interfaces here");
        return Err(Refusal::Limit("netboot_interfaces", message));
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
pub fn prove(
    request: &EnrolRequest<'_>,
    mac: MacAddress,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> Result<Option<Proof>, Refusal> {
    let proven_by = known.and_then(|known| Proof::from_name(known.proven_by.as_deref()?));
    let is_known = request.is_host || proven_by.is_some();
    // An endorsement key is pinned only with another proof; an unproven one must not lock the real machine out.
    let pinned = known.filter(|_| is_known).and_then(|known| known.endorsement_key_sha256.as_deref());
    if let Some(pinned) = pinned {
        // The TPM identifies the machine, even if its certificate has changed.
        let is_own = request.endorsement == Some(pinned);
        return if is_own { Ok(Some(Proof::EndorsementKey)) } else { Err(other_tpm(mac, request)) };
    }
    let is_same_start =
        known.is_some_and(|known| known.boot_id.as_deref() == Some(request.enrolment.boot_id.as_str()));
    let certificate = known.and_then(|known| known.certificate_sha256.as_deref());
    if certificate == Some(request.certificate) && is_same_start {
        return Ok(proven_by.or(request.is_approved.then_some(Proof::Approval)));
    }
    let proof = match token(request, now)? {
        true => Some(Proof::Token),
        false => request.is_approved.then_some(Proof::Approval),
    };
    if proof.is_none() {
        may_be_unproven(request, mac, is_known)?;
    }
    let is_another = certificate.is_some_and(|certificate| certificate != request.certificate);
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
    if request.heard.max(written).is_some_and(|seen| now - seen < Duration::seconds(ALIVE_SECONDS)) {
        return Err(Refusal::Forbidden(format!(
            "machine {mac} still runs with another certificate: try again in {ALIVE_SECONDS} s"
        )));
    }
    Ok(proof)
}

/// Refuses a machine without a proof if it would take the place of a host or of a machine with a lease. Otherwise it may enrol, so that
/// a person can look at it.
fn may_be_unproven(request: &EnrolRequest<'_>, mac: MacAddress, is_known: bool) -> Result<(), Refusal> {
    let has_lease = request.lease_holder.is_some();
    if request.is_host {
        return Err(Refusal::Unproven(format!(
            "machine {mac} is a host, and nothing shows that this is it: neither the one-time token of a start that this server saw, nor its \
             TPM. If it was started on purpose: firstlight metal approve {}",
            mac.dashed()
        )));
    }
    if !has_lease && (is_known || request.is_elsewhere) {
        return Err(Refusal::Forbidden(format!(
            "machine {mac} is known, and {} is not its address",
            request.address.to_canonical()
        )));
    }
    Ok(())
}

fn other_tpm(mac: MacAddress, request: &EnrolRequest<'_>) -> Refusal {
    let shown = if request.endorsement.is_some() { "another one" } else { "none" };
    Refusal::Endorsement(format!(
        "machine {mac} is known by the endorsement key of its TPM, and now shows {shown}: it may be another machine. If its mainboard or TPM was \
         exchanged, switched off or reset, let it be known anew: kubectl delete agents.netboot.firstlight.dev {}",
        mac.dashed()
    ))
}

/// Whether the request shows a token. A machine that was told one shows it, and nobody shows one that was shown before.
fn token(request: &EnrolRequest<'_>, now: DateTime<Utc>) -> Result<bool, Refusal> {
    let unused = |told: &&(BootToken, bool)| !told.1 && now - told.0.time < TOKEN;
    match request.token() {
        Some(shown) => match request.tokens.iter().find(|(told, _)| told.sha256 == shown) {
            Some((_, false)) => Ok(true),
            Some((_, true)) => Err(Refusal::Token("has been used before")),
            None => Err(Refusal::Token("is not the one that it was told last")),
        },
        None if request.tokens.iter().any(|told| unused(&told)) => {
            Err(Refusal::Token("is missing, although it was told one"))
        }
        None => Ok(false),
    }
}

/// Returns whether the same enrolment was written less than [`limits::ENROLLED_AGAIN`] ago.
pub fn is_again(
    request: &EnrolRequest<'_>,
    proof: Option<Proof>,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> bool {
    known.is_some_and(|known| {
        let seen = known.last_seen_time.as_deref().and_then(parse_rfc3339);
        known.certificate_sha256.as_deref() == Some(request.certificate)
            && known.boot_id.as_deref() == Some(request.enrolment.boot_id.as_str())
            && known.proven_by.as_deref() == proof.map(Proof::name)
            && seen.is_some_and(|seen| now - seen < limits::duration(limits::ENROLLED_AGAIN))
    })
}

/// Returns the status of a machine that has enrolled, as a merge patch. Instruction and log of an earlier start are removed.
pub fn enrolled(
    request: &EnrolRequest<'_>,
    mac: MacAddress,
    proof: Option<Proof>,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> Value {
    let said = request.enrolment;
    let mut status = json!({
        "bootMACAddress": mac.to_string(),
        "macAddresses": interfaces(said).map(|mac| mac.to_string()).collect::<Vec<_>>(),
        "systemUUID": said.system_uuid.as_deref().map(|text| plain(&text.to_lowercase())),
        "serialNumber": said.serial_number.as_deref().map(plain),
        "address": request.address.to_canonical().to_string(),
        "bootID": plain(&said.boot_id),
        "version": plain(&said.version),
        "certificateSHA256": request.certificate,
        "endorsementKeySHA256": request.endorsement,
        "provenBy": proof.map(Proof::name),
        "lastSeenTime": rfc3339(now),
    });
    if let Some(mode) = request.boot_mode {
        status["bootMode"] = mode.into();
    }
    // A used token stays used, even if the machine later starts without one, so the field is never reset.
    if let Some(token) = request.token() {
        status["bootTokenSHA256"] = token.into();
    }
    if known.is_some_and(|known| {
        known.boot_id.as_deref() != Some(said.boot_id.as_str())
            || known.certificate_sha256.as_deref() != Some(request.certificate)
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

/// Returns the text without characters on which a terminal would act, or which nobody sees.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !terminal::is_unsafe(*c)).collect()
}
