//! Status and conditions of a HostClaim. Pure.

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary, summarize};
use engine::object::is_deleting;
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::meta::Condition;
use schemas::metal3::{BareMetalHost, HostClaim, HostClaimObjectReference};

/// Whether the claim has a host.
pub const ASSOCIATED: &str = "Associated";
/// Whether the host has what the claim says.
pub const SYNCHRONIZED: &str = "Synchronized";
/// The host's condition of this type: whether it runs its image.
pub const PROVISIONED: &str = "Provisioned";
/// The host's condition of this type: whether an image can be written to it.
const AVAILABLE: &str = "AvailableForProvisioning";
/// The reason of [`ASSOCIATED`] of a claim whose provisioned host is lost.
pub const MISSING: &str = "MissingBareMetalHost";
/// The reason of [`SYNCHRONIZED`] if the host does not have what the claim says.
pub const NOT_SYNCHRONIZED: &str = "BareMetalHostNotSynchronized";

/// The conditions that this controller owns.
pub(super) const OWNED: &[&str] = &["Ready", ASSOCIATED, SYNCHRONIZED, PROVISIONED, AVAILABLE, "Paused"];

/// Copies the state of the host into the status.
pub(super) fn show(claim: &mut HostClaim, host: &BareMetalHost, now: DateTime<Utc>) {
    let reference = HostClaimObjectReference {
        name: host.metadata.name.clone().unwrap_or_default(),
        namespace: host.metadata.namespace.clone().unwrap_or_default(),
    };
    let status = claim.status.get_or_insert_default();
    // HardwareData has the name of its host.
    status.hardware_data = Some(reference.clone());
    status.bare_metal_host = Some(reference);
    status.powered_on = Some(host.status.as_ref().is_some_and(|status| status.powered_on));
    for type_ in [PROVISIONED, AVAILABLE] {
        let condition = conditions::mirror(type_, type_, host.condition(type_), None);
        conditions::set(claim, now, condition);
    }
}

/// Removes the state of a host that the claim no longer has.
pub(super) fn hide(claim: &mut HostClaim) {
    let Some(status) = &mut claim.status else { return };
    (status.bare_metal_host, status.hardware_data, status.powered_on) = (None, None, None);
    for type_ in [PROVISIONED, AVAILABLE, SYNCHRONIZED] {
        conditions::remove(claim, type_);
    }
}

/// Sets `Ready` from the other conditions, and the time of the last change.
pub(super) fn complete(claim: &mut HostClaim, read: &HostClaim, now: DateTime<Utc>) {
    let types = vec![ASSOCIATED, SYNCHRONIZED, PROVISIONED];
    let summary = Summary {
        ignore_if_missing: types.iter().skip(1).copied().collect(),
        types,
        negative: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let mut ready = summarize("Ready", claim.conditions(), &summary, |_| None);
    if is_deleting(read) {
        ready = conditions::is_false("Ready", "Deleting", ready.message);
    }
    conditions::set(claim, now, ready);
    if claim.status != read.status {
        claim.status.get_or_insert_default().last_updated = Some(rfc3339(now));
    }
}

/// Returns whether the claim has lost the host that ran its image. It gets no other one.
pub(super) fn is_lost(claim: &HostClaim) -> bool {
    claim.condition_is_true(PROVISIONED)
        || claim.condition(ASSOCIATED).is_some_and(|condition| condition.reason == MISSING)
}

/// Returns whether the claim waits for a host.
pub(super) fn is_waiting(claim: &HostClaim) -> bool {
    let has_host = claim.status.as_ref().is_some_and(|status| status.bare_metal_host.is_some());
    !has_host && !is_deleting(claim) && !is_lost(claim)
}

/// Returns the condition of a claim without a host.
pub(super) fn no_host(reason: &str, message: impl Into<String>) -> Condition {
    conditions::is_false(ASSOCIATED, reason, message)
}
