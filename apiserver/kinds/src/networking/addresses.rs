//! The cluster IPs of a Service and their IP families. The cluster has IPv4 only.

use std::collections::HashSet;
use std::net::IpAddr;

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Map, Value, json};

use crate::fields::{forbidden, invalid, required};

pub(super) const NONE: &str = "None";
pub(super) const EXTERNAL: &str = "ExternalName";
const SINGLE: &str = "SingleStack";
const DUAL: &str = "RequireDualStack";
/// The only IP family of this cluster.
const FAMILY: &str = "IPv4";
const OTHER_FAMILY: &str = "IPv6";

fn texts<'v>(spec: &'v Value, field: &str) -> Vec<&'v str> {
    spec[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn text<'v>(spec: &'v Value, field: &str) -> &'v str {
    spec[field].as_str().unwrap_or_default()
}

fn is_headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs").first() == Some(&NONE)
}

/// Returns whether the Service is headless and has no selector. Its endpoints are then managed elsewhere and can be of
/// any family.
fn is_anybodys(spec: &Value) -> bool {
    text(spec, "clusterIP") == NONE && spec["selector"].as_object().is_none_or(Map::is_empty)
}

/// Fills in `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` of a new Service.
pub(crate) fn complete(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if !text(spec, "clusterIP").is_empty() && texts(spec, "clusterIPs").is_empty() {
        spec["clusterIPs"] = json!([text(spec, "clusterIP")]);
    }
    families(spec, &Value::Null);
}

/// Carries `clusterIP` and `clusterIPs` over from the old Service at an update, and fills in the families.
pub(crate) fn complete_update(service: &mut Value, old: &Value) {
    let before = &old["spec"];
    let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let both = text(spec, "type") != EXTERNAL && text(before, "type") != EXTERNAL;
    let cleared = text(spec, "clusterIP").is_empty() && !text(before, "clusterIP").is_empty();
    if !both && cleared && spec["clusterIPs"] == before["clusterIPs"] {
        // A client that clears `clusterIP` means the list, too, which the server had filled in.
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("clusterIPs");
        }
    }
    addresses(spec, before, both);
    if text(spec, "type") == EXTERNAL && text(before, "type") != EXTERNAL {
        // Fields that are unchanged belong to the old type and are removed; fields that the client changed are
        // validated.
        let same = |field: &str| spec[field] == before[field];
        let (addresses, both) = (["clusterIP", "clusterIPs"], same("clusterIP") && same("clusterIPs"));
        let mut gone: Vec<&str> = if both { addresses.to_vec() } else { Vec::new() };
        gone.extend(["ipFamilies", "ipFamilyPolicy"].into_iter().filter(|field| same(field)));
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|field, _| !gone.contains(&field.as_str()));
        }
    }
    families(spec, before);
}

/// Keeps the old `clusterIP` if `keep` is set and the update has none, and makes `clusterIPs` follow `clusterIP`.
fn addresses(spec: &mut Value, before: &Value, keep: bool) {
    let address = text(before, "clusterIP").to_owned();
    if keep && text(spec, "clusterIP").is_empty() && !address.is_empty() {
        spec["clusterIP"] = address.clone().into();
    }
    let now = text(spec, "clusterIP").to_owned();
    if now.is_empty() {
        return;
    }
    let list = texts(spec, "clusterIPs");
    if list.is_empty() {
        spec["clusterIPs"] = if now == address { before["clusterIPs"].clone() } else { json!([now]) };
    } else if now != address && spec["clusterIPs"] == before["clusterIPs"] {
        spec["clusterIPs"][0] = now.into();
    }
}

fn families(spec: &mut Value, before: &Value) {
    if text(spec, "type") == EXTERNAL {
        return;
    }
    let anybodys = is_anybodys(spec);
    if text(spec, "ipFamilyPolicy").is_empty() {
        let usual = if anybodys { DUAL } else { SINGLE };
        spec["ipFamilyPolicy"] = before["ipFamilyPolicy"].as_str().unwrap_or(usual).into();
    }
    let single = text(spec, "ipFamilyPolicy") == SINGLE;
    let count = texts(spec, "ipFamilies").len();
    let had = texts(before, "ipFamilies").len();
    if count == 0 {
        spec["ipFamilies"] = json!([FAMILY]);
    } else if single && count > 1 && spec["ipFamilies"] == before["ipFamilies"] {
        spec["ipFamilies"] = json!([spec["ipFamilies"][0]]);
    }
    // An update from two families to one is either refused by validation or meant as written, so no second family is
    // added.
    let reduced = count == 1 && had == 2;
    if anybodys && !single && !reduced && texts(spec, "ipFamilies").len() == 1 {
        let other = if spec["ipFamilies"][0] == FAMILY { OTHER_FAMILY } else { FAMILY };
        spec["ipFamilies"] = json!([spec["ipFamilies"][0], other]);
    }
}

/// Validates `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` against the Service type and the cluster.
pub(crate) fn validate(spec: &Value) -> Vec<FieldError> {
    if text(spec, "type") == EXTERNAL {
        let fields = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"];
        let given = fields.into_iter().filter(|field| !crate::decode::empty(&spec[field]));
        let why = "may not be set for ExternalName services";
        return given.map(|field| forbidden(format!("spec.{field}"), why)).collect();
    }
    let mut errors = listed(spec);
    let two = texts(spec, "ipFamilies").len() == 2;
    if errors.is_empty() && text(spec, "ipFamilyPolicy") == SINGLE && two {
        let why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
        errors.push(invalid("spec.ipFamilyPolicy", SINGLE, why));
    }
    if errors.is_empty() && !is_anybodys(spec) {
        if text(spec, "ipFamilyPolicy") == DUAL {
            let why = "this cluster is not configured for dual-stack services";
            errors.push(invalid("spec.ipFamilyPolicy", DUAL, why));
        }
        for (index, family) in texts(spec, "ipFamilies").into_iter().enumerate() {
            if family == OTHER_FAMILY {
                let why = "not configured on this cluster";
                errors.push(invalid(format!("spec.ipFamilies[{index}]"), family, why));
            }
        }
    }
    let kind = text(spec, "type");
    if errors.is_empty() && matches!(kind, "NodePort" | "LoadBalancer") && is_headless(spec) {
        let why = format!("may not be set to 'None' for {kind} services");
        errors.push(invalid("spec.clusterIPs[0]", NONE, why));
    }
    errors
}

/// Validates `clusterIPs` and `ipFamilies` alone: duplicates, lengths, and agreement with `clusterIP`.
fn listed(spec: &Value) -> Vec<FieldError> {
    const FIELD: &str = "spec.clusterIPs";
    let mut errors = Vec::new();
    let (address, list) = (text(spec, "clusterIP"), texts(spec, "clusterIPs"));
    let shown = || spec["clusterIPs"].clone();
    match list.first() {
        None if !address.is_empty() => errors.push(required(FIELD, "")),
        Some(first) if !address.is_empty() && *first != address => {
            errors.push(invalid(FIELD, shown(), "first value must match `clusterIP`"));
        }
        Some(_) if address.is_empty() => {
            errors.push(invalid(FIELD, shown(), "must be empty when `clusterIP` is not specified"));
        }
        _ => {}
    }
    let families = texts(spec, "ipFamilies");
    let mut seen = HashSet::new();
    for (index, family) in families.iter().enumerate() {
        if !seen.insert(family) {
            let field = format!("spec.ipFamilies[{index}]");
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &(*family).into(), ""));
        }
    }
    for (index, one) in list.iter().enumerate() {
        if index == 0 && *one == NONE {
            if list.len() > 1 {
                errors.push(invalid(FIELD, shown(), "'None' must be the first and only value"));
            }
        } else if let Some(why) = crate::types::address_problem(one) {
            errors.push(invalid(format!("{FIELD}[{index}]"), *one, why));
        }
    }
    if list.len() > 2 {
        errors.push(invalid(FIELD, shown(), "may only hold up to 2 values"));
    }
    errors
}

/// Returns errors for changes that an update may not make to `clusterIPs` and families.
pub(crate) fn kept(spec: &Value, before: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(spec, "type") == EXTERNAL || text(before, "type") == EXTERNAL {
        return errors;
    }
    let reduced = texts(spec, "ipFamilies").len() == 1 && texts(before, "ipFamilies").len() == 2;
    let policy = text(spec, "ipFamilyPolicy");
    if reduced && policy != SINGLE && listed(spec).is_empty() {
        let why = "must be 'SingleStack' to release the secondary IP family";
        errors.push(invalid("spec.ipFamilyPolicy", policy, why));
    }
    if is_headless(spec) && is_headless(before) {
        return errors;
    }
    let (now, then) = (texts(spec, "clusterIPs"), texts(before, "clusterIPs"));
    if now.is_empty() && !then.is_empty() {
        errors.push(invalid("spec.clusterIPs[0]", json!([]), "primary clusterIP can not be unset"));
    } else if !then.is_empty() && now.first() != then.first() && listed(spec).is_empty() {
        errors.push(invalid("spec.clusterIPs[0]", spec["clusterIPs"].clone(), "may not change once set"));
    }
    errors
}

/// Refuses entries of `spec.externalIPs` that are unspecified, loopback, link-local or link-local multicast.
pub(crate) fn special(list: &Value, errors: &mut Vec<FieldError>) {
    for (index, one) in list.as_array().into_iter().flatten().filter_map(Value::as_str).enumerate() {
        let Ok(address) = one.parse::<IpAddr>() else { continue };
        let (local, multicast) = match address {
            IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
            IpAddr::V6(address) => {
                (address.segments()[0] & 0xffc0 == 0xfe80, address.segments()[0] == 0xff02)
            }
        };
        let mut push = |why: String| errors.push(invalid(format!("spec.externalIPs[{index}]"), one, why));
        if address.is_unspecified() {
            push(format!("may not be unspecified ({address})"));
        }
        if address.is_loopback() {
            push("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned());
        }
        if local {
            push("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned());
        }
        if multicast {
            push("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned());
        }
    }
}
