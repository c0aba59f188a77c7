//! Validation of updates of a pod's status.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{address_problem, shown};
use machinery::field::FieldError;
use machinery::names;
use serde_json::Value;

use crate::fields::{forbidden, invalid, list};

/// Validates an update of a pod's status.
pub(crate) fn check(pod: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before) = (&pod["status"], &old["status"]);
    let mut errors = Vec::new();
    let why = "must be a non-negative integer";
    let negative = |value: &Value| value.as_i64().filter(|number| *number < 0);
    for (index, condition) in list(now, "conditions").iter().enumerate() {
        let path = format!("status.conditions[{index}]");
        if let Some(number) = negative(&condition["observedGeneration"]) {
            errors.push(invalid(format!("{path}.observedGeneration"), number, why));
        }
        // kube-apiserver skips the condition types of the system, which are valid names anyway, and writes `.Type` in
        // this path.
        let kind = condition["type"].as_str().unwrap_or_default();
        let problems = names::qualified_name(kind);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.Type"), kind, why)));
    }
    if let Some(number) = negative(&now["observedGeneration"]) {
        errors.push(invalid("status.observedGeneration", number, why));
    }
    if let Some(node) = now["nominatedNodeName"].as_str().filter(|node| !node.is_empty()) {
        let problems = names::dns1123_subdomain(node);
        errors.extend(problems.into_iter().map(|why| invalid("status.nominatedNodeName", node, why)));
    }
    for field in ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] {
        transitions(field, pod, before, &mut errors);
    }
    for (index, status) in list(now, "containerStatuses").iter().enumerate() {
        for id in ["uid", "gid"] {
            if let Some(number) = negative(&status["user"]["linux"][id]) {
                let field = format!("status.containerStatuses[{index}].user.linux.{id}");
                errors.push(invalid(field, number, "must be between 0 and 2147483647, inclusive"));
            }
        }
    }
    if now["qosClass"] != before["qosClass"] {
        errors.push(invalid("status.qosClass", now["qosClass"].clone(), "field is immutable"));
    }
    addresses(now, before, "podIPs", "core.PodIP", &mut errors);
    let hosts = list(now, "hostIPs");
    if let Some(first) = hosts.first()
        && first["ip"] != now["hostIP"]
    {
        let why = "must be equal to `hostIP`";
        errors.push(invalid("status.hostIPs[0].ip", first["ip"].clone(), why));
    }
    addresses(now, before, "hostIPs", "core.HostIP", &mut errors);
    errors
}

/// Validates new addresses of the list, and that it has at most one address of each IP family.
fn addresses(now: &Value, before: &Value, field: &str, ty: &str, errors: &mut Vec<FieldError>) {
    let found = list(now, field);
    let known: BTreeSet<&str> = list(before, field).iter().filter_map(|one| one["ip"].as_str()).collect();
    let is_new = |one: &Value| one["ip"].as_str().is_none_or(|address| !known.contains(address));
    for (index, one) in found.iter().enumerate().filter(|(_, one)| is_new(one)) {
        let address = one["ip"].as_str().unwrap_or_default();
        if let Some(why) = address_problem(address) {
            errors.push(invalid(format!("status.{field}[{index}]"), address, why));
        }
    }
    let is_v6 = |one: &&Value| one["ip"].as_str().is_some_and(|text| text.contains(':'));
    let six = found.iter().filter(is_v6).count();
    if found.len() > 1 && (six != 1 || found.len() != 2) {
        let why = "may specify no more than one IP for each IP family";
        let mut error = invalid(format!("status.{field}"), Value::Null, why);
        error.value = Some(shown(&format!("?[]{ty}"), &now[field]));
        errors.push(error);
    }
}

/// Refuses to take a container out of its terminated state if its restart policy does not restart it.
fn transitions(field: &str, pod: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let spec = &pod["spec"];
    let containers = match field {
        "initContainerStatuses" => list(spec, "initContainers"),
        "containerStatuses" => list(spec, "containers"),
        _ => &[],
    };
    let policy = spec["restartPolicy"].as_str().unwrap_or("Always");
    let statuses = list(&pod["status"], field);
    let name = |one: &Value| one["name"].as_str().unwrap_or_default().to_owned();
    let olds: BTreeMap<String, &Value> = list(before, field).iter().map(|one| (name(one), one)).collect();
    let containers: BTreeMap<String, &Value> = containers.iter().map(|one| (name(one), one)).collect();
    for (index, now) in statuses.iter().enumerate() {
        let Some(old) = olds.get(&name(now)) else { continue };
        let ended = &old["state"]["terminated"];
        if !ended.is_object() || now["state"]["terminated"].is_object() {
            continue;
        }
        let container = containers.get(&name(now));
        let rules = container.is_some_and(|one| !list(one, "restartPolicyRules").is_empty());
        let own = container.and_then(|one| one["restartPolicy"].as_str());
        let failed = ended["exitCode"].as_i64().unwrap_or(0) != 0;
        let again = rules
            || match own.unwrap_or(policy) {
                "Always" => true,
                "OnFailure" => failed,
                _ => false,
            };
        // An init container that succeeded restarts only if its own restart policy is `Always`.
        if again && (field != "initContainerStatuses" || failed || own == Some("Always")) {
            continue;
        }
        let why = "may not be transitioned to non-terminated state";
        errors.push(forbidden(format!("status.{field}[{index}].state"), why));
    }
}
