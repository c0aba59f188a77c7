//! What a machine is given once, and for how long it may ask again: tokens and keys are in it. Its object says so, so that a server that was
//! started anew knows it.

use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::netboot::AgentHandover;
use serde_json::{Value, json};

/// How long a machine may ask again in one start: clients try several times.
const SAME_START: Duration = Duration::minutes(2);

/// Whether a machine has been given something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// It has not: write it down first.
    First,
    /// It has, just now.
    Same,
    /// It has, before: whoever asks now may be somebody else.
    Again,
}

/// What `known` says of something that is given for `purpose`.
pub fn handover(known: Option<&AgentHandover>, purpose: &str, now: DateTime<Utc>) -> Handover {
    let first = known.filter(|known| known.purpose == purpose).map(|known| parse_rfc3339(&known.time));
    match first {
        None => Handover::First,
        Some(Some(first)) if now - first <= SAME_START => Handover::Same,
        Some(_) => Handover::Again,
    }
}

/// That it was given now, as the field `name` of an Agent's status.
pub fn given(name: &str, purpose: &str, now: DateTime<Utc>) -> Value {
    json!({ "status": { name: { "purpose": purpose, "time": rfc3339(now) } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_for_each_purpose() {
        let at = |seconds| parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds);
        let known = |time: &str| AgentHandover { purpose: "a".into(), time: time.into(), token_sha256: None };
        let first = known("2026-11-22T09:00:00Z");
        let cases = [
            (None, "a", 0, Handover::First),
            (Some(&first), "b", 0, Handover::First),
            (Some(&first), "a", 120, Handover::Same),
            (Some(&first), "a", 121, Handover::Again),
            (Some(&known("some time")), "a", 0, Handover::Again),
        ];
        for (known, purpose, seconds, expected) in cases {
            assert_eq!(handover(known, purpose, at(seconds)), expected, "{known:?} {purpose} {seconds}");
        }
    }
}
