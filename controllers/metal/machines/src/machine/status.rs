//! The conditions of a Metal3Machine. Pure.

use chrono::{DateTime, Utc};
use engine::conditions::{Reasons, Summary, summarize};
use engine::{conditions, v1beta1};
use schemas::HasConditions;
use schemas::infrastructure::Metal3Machine;
use schemas::meta::V1Beta1Condition;

/// Whether the machine has a host.
pub const ASSOCIATED: &str = "AssociateBareMetalHost";
/// Whether the machine has a data claim.
pub const CLAIMED: &str = "AssociateMetal3MachineMetaData";
/// Whether the data of the machine are rendered.
pub const DATA_READY: &str = "Metal3DataReady";
/// Whether the host runs the machine's image. Metal3 does not have this condition.
pub const HOST_PROVISIONED: &str = "HostProvisioned";
/// Whether the system of the host has ended its bootstrap well. Metal3 does not have this condition.
pub const BOOTSTRAPPED: &str = "BootstrapSucceeded";
/// Whether the machine's Node is known. Metal3 has it as `KubernetesNodeReady` of v1beta1.
pub const NODE_FOUND: &str = "NodeFound";

/// Conditions that this controller owns.
pub(super) const OWNED: &[&str] =
    &["Ready", ASSOCIATED, CLAIMED, DATA_READY, HOST_PROVISIONED, BOOTSTRAPPED, NODE_FOUND, "Paused"];

/// The conditions that make `Ready`.
const SOURCES: [&str; 6] = [ASSOCIATED, CLAIMED, DATA_READY, HOST_PROVISIONED, BOOTSTRAPPED, NODE_FOUND];

/// The conditions of v1beta1, each with the condition that it repeats.
const OLDER: [(&str, &str); 4] = [
    ("Ready", "Ready"),
    ("AssociateBMH", ASSOCIATED),
    ("KubernetesNodeReady", NODE_FOUND),
    ("Metal3DataReady", DATA_READY),
];

/// Sets `Ready` from the other conditions, and repeats all of them for clients of v1beta1.
pub(super) fn summarize_all(object: &mut Metal3Machine, is_deleting: bool, now: DateTime<Utc>) {
    let summary = Summary {
        types: SOURCES.to_vec(),
        negative: Vec::new(),
        ignore_if_missing: SOURCES.iter().skip(1).copied().collect(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let mut ready = summarize("Ready", object.conditions(), &summary, |_| None);
    if is_deleting {
        ready = conditions::is_false("Ready", "Deleting", ready.message);
    }
    conditions::set(object, now, ready);
    let older: Vec<V1Beta1Condition> = OLDER
        .iter()
        .filter_map(|(older, type_)| Some(v1beta1::repeated(older, object.condition(type_)?)))
        .collect();
    let status = object.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default().conditions = older;
}
