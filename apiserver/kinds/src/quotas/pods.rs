//! What a pod uses of quotas.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use machinery::clock::parse_rfc3339;
use serde_json::Value;

use super::amounts::{self, Amounts};
use super::counted::count;
use crate::fields::{list, text};
use crate::pods::resources;

/// Quotas of these make each container say what it needs.
const TO_SPECIFY: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
/// The resources that quotas know by their own names and with `requests.` and `limits.` in front.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Returns whether pods use a resource of a quota, apart from their number.
pub(super) fn uses(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits."));
    let is_request = name.starts_with("requests.");
    name == "pods"
        || COMPUTE.contains(&bare.unwrap_or(name))
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
        || (is_request && !resources::is_native(name))
        || name.starts_with("requests.deviceclass.resource.kubernetes.io/")
}

/// Returns what a pod uses. One that has ended, or should have, uses nothing but its place.
pub(super) fn usage(pod: &Value, now: DateTime<Utc>) -> Amounts {
    if !is_alive(pod, now) {
        return Amounts::new();
    }
    by_quota(&needs(pod, "requests"), &needs(pod, "limits"))
}

/// Returns whether a pod has neither ended nor outlived its deletion.
fn is_alive(pod: &Value, now: DateTime<Utc>) -> bool {
    if matches!(text(&pod["status"], "phase"), "Failed" | "Succeeded") {
        return false;
    }
    let metadata = &pod["metadata"];
    let deleted = parse_rfc3339(text(metadata, "deletionTimestamp"));
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().and_then(TimeDelta::try_seconds);
    let end = deleted.zip(grace).and_then(|(deleted, grace)| deleted.checked_add_signed(grace));
    end.is_none_or(|end| now <= end)
}

/// Returns requests and limits under the names of quotas.
fn by_quota(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::from([("pods".to_owned(), count(1))]);
    for (name, amount) in requests {
        let is_plain = COMPUTE.contains(&name.as_str()) || name.starts_with("hugepages-");
        if is_plain {
            used.insert(name.clone(), *amount);
        }
        if is_plain || resources::is_extended(name) {
            used.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in COMPUTE {
        if let Some(amount) = limits.get(name) {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    used
}

/// Returns the requests or limits of a pod. While its containers are resized, the larger ones count.
fn needs(pod: &Value, which: &str) -> Amounts {
    let status = &pod["status"];
    let lists = ["containerStatuses", "initContainerStatuses"].into_iter();
    let statuses: BTreeMap<&str, &Value> =
        lists.flat_map(|field| list(status, field)).map(|status| (text(status, "name"), status)).collect();
    let pending = list(status, "conditions").iter().find(|one| one["type"] == "PodResizePending");
    let is_infeasible = pending.is_some_and(|one| one["reason"] == "Infeasible");
    let of_container = |container: &Value, is_init: bool| {
        let own = amounts::read(&container["resources"][which]);
        let goes_on = !is_init || container["restartPolicy"] == "Always";
        let status = statuses.get(text(container, "name"));
        let status = status.filter(|status| goes_on && status["resources"].is_object());
        let Some(status) = status else { return own };
        let mut found = amounts::read(&status["resources"][which]);
        if which == "requests" {
            amounts::raise(&mut found, &amounts::read(&status["allocatedResources"]));
        }
        if !is_infeasible {
            amounts::raise(&mut found, &own);
        }
        found
    };
    let spec = &pod["spec"];
    let mut sums = amounts::of_containers(spec, of_container);
    let whole = amounts::read(&spec["resources"][which]);
    sums.extend(whole.into_iter().filter(|(name, _)| resources::is_of_pods(name)));
    let mut overhead = amounts::read(&spec["overhead"]);
    if which == "limits" {
        overhead.retain(|name, _| sums.get(name).is_some_and(|limit| limit.sign() != 0));
    }
    amounts::add(&mut sums, &overhead);
    sums
}

/// Returns which of the limited resources the containers of a pod do not specify, as a sentence.
pub(super) fn unspecified(limited: &[&str], pod: &Value) -> Option<String> {
    let spec = &pod["spec"];
    let whole = ["requests", "limits"].into_iter().flat_map(|list| spec["resources"][list].as_object());
    if whole.flat_map(serde_json::Map::keys).any(|name| resources::is_of_pods(name)) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in ["containers", "initContainers"].into_iter().flat_map(|field| list(spec, field)) {
        let read = |which: &str| amounts::read(&container["resources"][which]);
        let given = by_quota(&read("requests"), &read("limits"));
        for name in limited.iter().filter(|name| TO_SPECIFY.contains(name) && !given.contains_key(**name)) {
            missing.entry(name).or_default().insert(text(container, "name"));
        }
    }
    let shown = missing.iter().map(|(name, containers)| {
        format!("{name} for: {}", containers.iter().copied().collect::<Vec<_>>().join(","))
    });
    (!missing.is_empty()).then(|| format!("must specify {}", shown.collect::<Vec<_>>().join("; ")))
}
