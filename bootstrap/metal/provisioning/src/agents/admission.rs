//! Who is let in as which machine, and what is written down of that. Pure.

use std::net::IpAddr;

use agent_protocol::Enrolment;
use chrono::{DateTime, Duration, Utc};
use dhcp::MacAddress;
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::netboot::AgentStatus;
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::directory::BootToken;
use crate::fingerprint::fingerprint;
use crate::limits;

/// A machine that was heard of in this time runs.
const ALIVE_SECONDS: i64 = 6;
/// How long a machine that was told a token is not let in without it. Firmware may start it in another way then.
const TOKEN: Duration = Duration::minutes(15);

/// A machine that asks to be let in: what it says and what is known of it.
pub struct EnrolRequest<'a> {
    /// What it says. Nothing of that is a proof but the token.
    pub enrolment: &'a Enrolment,
    /// The checksum of its certificate.
    pub certificate: &'a str,
    /// The checksum of the endorsement key of its TPM, which it has proved to have.
    pub endorsement: Option<&'a str>,
    /// Where it speaks from.
    pub address: IpAddr,
    /// The machine that has this address by its lease.
    pub lease_holder: Option<MacAddress>,
    /// Whether the machine that it says it is has a lease, of another address.
    pub is_elsewhere: bool,
    /// When the machine was heard of last; later than what is written down.
    pub heard: Option<DateTime<Utc>>,
    /// How the machine's firmware started it, where the lease tells.
    pub boot_mode: Option<&'static str>,
    /// The tokens that this machine was told, and whether somebody has enrolled with them.
    pub tokens: &'a [(BootToken, bool)],
    /// The machine of this name is a host.
    pub is_host: bool,
    /// A person lets the one with this certificate in.
    pub is_approved: bool,
}

impl EnrolRequest<'_> {
    /// The checksum of the token that it shows.
    fn token(&self) -> Option<String> {
        self.enrolment.token.as_ref().map(|token| fingerprint(token.as_bytes()))
    }
}

/// What shows that a machine is the one that it is let in as (`status.provenBy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The one-time token of its start.
    Token,
    /// Its TPM.
    EndorsementKey,
    /// A person.
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

/// Looks whether an enrolment is one at all, before anything is kept of it.
///
/// # Errors
/// [`Refusal::Malformed`]
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

/// Under which name a machine asks to be let in: that of the interface that it speaks from, which is the one that has leased the address.
///
/// # Errors
/// [`Refusal::Malformed`] for a MAC address that is none; [`Refusal::Forbidden`] when another machine has the address.
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

/// The interfaces that a machine says are its own.
pub fn interfaces(said: &Enrolment) -> impl Iterator<Item = MacAddress> + '_ {
    said.mac_addresses.iter().filter_map(|text| text.parse().ok())
}

/// Whether a machine is let in as `mac`, and what has shown that it is that machine. Without a proof it is nobody's host.
///
/// # Errors
/// [`Refusal::Forbidden`] when the machine is somewhere else, or already runs with another certificate; [`Refusal::Token`];
/// [`Refusal::Endorsement`] when the machine is known by another TPM; [`Refusal::Unproven`] when it is a host and nothing shows that it
/// is this one.
pub fn admit(
    request: &EnrolRequest<'_>,
    mac: MacAddress,
    known: Option<&AgentStatus>,
    now: DateTime<Utc>,
) -> Result<Option<Proof>, Refusal> {
    let proven_by = known.and_then(|known| Proof::from_name(known.proven_by.as_deref()?));
    let is_known = request.is_host || proven_by.is_some();
    // What a machine showed that proved nothing else keeps nobody out.
    let pinned = known.filter(|_| is_known).and_then(|known| known.endorsement_key_sha256.as_deref());
    if let Some(pinned) = pinned {
        // Who has the TPM is the machine, whatever became of its certificate.
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
    // Nobody whose word alone is known keeps the machine itself out.
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

/// A machine that shows nothing may be looked at by a person, but takes no place that is another one's.
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

/// Whether the same has been written down a moment ago.
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

/// The status of a machine that has enrolled, as a merge. What an earlier start left behind of its instruction and log goes.
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
    // A token that was used stays used, though the machine starts without one afterwards.
    if let Some(token) = request.token() {
        status["bootTokenSHA256"] = token.into();
    }
    if known.is_some_and(|known| {
        known.boot_id.as_deref() != Some(said.boot_id.as_str())
            || known.certificate_sha256.as_deref() != Some(request.certificate)
    }) {
        status["instruction"] = Value::Null;
        status["log"] = Value::Null;
        // What was found belongs to the one that found it.
        if proof.is_none() {
            status["hardware"] = Value::Null;
        }
    }
    json!({ "status": status })
}

/// A word, without what a terminal would act on.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
