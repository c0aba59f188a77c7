//! Tests of `handover`.

use chrono::Duration;
use machinery::clock::parse_rfc3339;
use metal_provisioning::handover::{Handover, handover};
use schemas::netboot::AgentHandover;

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
