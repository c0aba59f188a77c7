//! The checks that the level `restricted` has beside those of `baseline`, in the order of their names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::baseline::{SECCOMP, added, bad_profile, masked_proc, seccomp};
use super::{Check, Pod, Violation, containers, context, plural, quoted, setters, violation};
use crate::fields::{list, text};

/// The checks, each with the version from which on it counts.
pub(super) const CHECKS: [(u32, Check); 7] = [
    (8, escalation),
    (22, capabilities),
    (35, masked_proc),
    (0, volumes),
    (0, non_root),
    (23, user),
    (19, profile),
];

/// Returns whether a check of what only Linux has does not concern the pod.
fn is_exempt(pod: &Pod<'_>) -> bool {
    pod.version >= 25 && pod.is_windows()
}

fn escalation(pod: &Pod<'_>) -> Option<Violation> {
    if is_exempt(pod) {
        return None;
    }
    let names = pod.bad(|container| context(container)["allowPrivilegeEscalation"] != false);
    if names.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names));
    violation("allowPrivilegeEscalation != false", detail)
}

fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    if is_exempt(pod) {
        return None;
    }
    let names = pod.bad(|container| {
        list(&context(container)["capabilities"], "drop").iter().all(|dropped| *dropped != "ALL")
    });
    let mut details = Vec::new();
    if !names.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&names)));
    }
    details.extend(added(pod, &["NET_BIND_SERVICE"]));
    if details.is_empty() {
        return None;
    }
    violation("unrestricted capabilities", details.join("; "))
}

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    /// Returns the kind of a volume that is not allowed.
    fn bad(volume: &Value) -> Option<&str> {
        let is_there = |kind: &str| !volume[kind].is_null();
        if VOLUMES.into_iter().any(is_there) {
            return None;
        }
        let kinds = volume.as_object().into_iter().flatten();
        let mut kinds = kinds.filter(|(field, value)| *field != "name" && !value.is_null());
        Some(kinds.next().map_or("unknown", |(kind, _)| kind))
    }
    let found: Vec<(&str, &str)> =
        list(pod.spec, "volumes").iter().filter_map(|one| Some((text(one, "name"), bad(one)?))).collect();
    if found.is_empty() {
        return None;
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let kinds: BTreeSet<&str> = found.iter().map(|(_, kind)| *kind).collect();
    let words = plural(kinds.len(), "restricted volume type", "restricted volume types");
    let (volumes, uses) = (plural(names.len(), "volume", "volumes"), plural(names.len(), "uses", "use"));
    let detail = format!("{volumes} {} {uses} {words} {}", quoted(&names), quoted(&kinds));
    violation("restricted volume types", detail)
}

fn non_root(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if pod.version >= 35 && pod.has_own_users() {
        return None;
    }
    let own = &context(pod.spec)["runAsNonRoot"];
    let names = pod.bad(|container| context(container)["runAsNonRoot"] == false);
    if let Some(who) = setters(*own == false, &names) {
        return violation(REASON, format!("{who} must not set securityContext.runAsNonRoot=false"));
    }
    let names = pod.bad(|container| context(container)["runAsNonRoot"].is_null());
    if *own == true || names.is_empty() {
        return None;
    }
    violation(REASON, format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&names)))
}

fn user(pod: &Pod<'_>) -> Option<Violation> {
    if pod.version >= 35 && pod.has_own_users() {
        return None;
    }
    let names = pod.bad(|container| context(container)["runAsUser"] == 0);
    let who = setters(context(pod.spec)["runAsUser"] == 0, &names)?;
    violation("runAsUser=0", format!("{who} must not set runAsUser=0"))
}

fn profile(pod: &Pod<'_>) -> Option<Violation> {
    if is_exempt(pod) {
        return None;
    }
    if let Some(found) = seccomp(pod) {
        return Some(found);
    }
    let is_set = context(pod.spec)[SECCOMP].is_object() && bad_profile(pod.spec, SECCOMP).is_none();
    let names = pod.bad(|container| !context(container)[SECCOMP].is_object());
    if is_set || names.is_empty() {
        return None;
    }
    let types = "\"RuntimeDefault\" or \"Localhost\"";
    let detail =
        format!("pod or {} must set securityContext.seccompProfile.type to {types}", containers(&names));
    violation("seccompProfile", detail)
}
