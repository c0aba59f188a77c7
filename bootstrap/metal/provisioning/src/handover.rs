//! Limits how often a machine receives something that contains tokens and keys: once, and again for a short time. The status of its
//! Agent records the handover, so the limit survives a restart of the server.

use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::netboot::AgentHandover;
use serde_json::{Value, json};

/// How long a machine may ask again during one start: clients retry several times.
const SAME_START: Duration = Duration::minutes(2);

/// Whether a machine has already received something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The machine has not received it: the caller must record the handover first.
    First,
    /// The machine received it within the time for retries.
    Same,
    /// The machine received it earlier: the client that asks may be a different one.
    Again,
}

/// Returns what the recorded handover `known` means for a new request with this `purpose`.
pub fn handover(known: Option<&AgentHandover>, purpose: &str, now: DateTime<Utc>) -> Handover {
    let first = known.filter(|known| known.purpose == purpose).map(|known| parse_rfc3339(&known.time));
    match first {
        None => Handover::First,
        Some(Some(first)) if now - first <= SAME_START => Handover::Same,
        Some(_) => Handover::Again,
    }
}

/// Returns the status patch that records a handover at `now` as the field `name`.
pub fn given(name: &str, purpose: &str, now: DateTime<Utc>) -> Value {
    json!({ "status": { name: { "purpose": purpose, "time": rfc3339(now) } } })
}
