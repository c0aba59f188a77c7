//! Validation of volumes whose files come from objects: Secrets, ConfigMaps, pod fields, tokens.

use std::collections::HashSet;

use machinery::field::FieldError;
use machinery::names;
use serde_json::Value;

use super::paths::inside;
use crate::fields::{forbidden, invalid, required, text};
use crate::pods::containers::resource_ref;

/// Requires a text that the structural validation does not require.
pub(crate) fn needs(source: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    if text(source, field).is_empty() {
        errors.push(required(format!("{path}.{field}"), ""));
    }
}

pub(crate) fn mode(source: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(bits) = source[field].as_i64().filter(|bits| !(0..=0o777).contains(bits)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(invalid(format!("{path}.{field}"), bits, why));
    }
}

/// Validates the items that map keys of a Secret or ConfigMap to files.
pub(crate) fn keys(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    mode(source, "defaultMode", path, errors);
    for (index, item) in source["items"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.items[{index}]");
        inside(text(item, "path"), &format!("{path}.path"), errors);
        mode(item, "mode", &path, errors);
    }
}

/// Validates a downward API file. The errors of kube-apiserver do not contain the index of the item.
pub(crate) fn downward(item: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const FIELDS: [&str; 5] =
        ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
    needs(item, "path", path, errors);
    inside(text(item, "path"), &format!("{path}.path"), errors);
    let resource = &item["resourceFieldRef"];
    if resource.is_object() {
        needs(resource, "containerName", &format!("{path}.resourceFieldRef"), errors);
        resource_ref::resource_ref(resource, path, errors);
    }
    let version = text(&item["fieldRef"], "apiVersion");
    let field = text(&item["fieldRef"], "fieldPath");
    let key = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    if let Some((_, key)) = key.filter(|(map, _)| *map == "metadata.labels") {
        let problems = names::qualified_name(key);
        let at = format!("{path}.fieldRef");
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), key, why)));
    }
    if !matches!(version, "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(invalid(format!("{path}.fieldRef.fieldPath"), field, why));
        return;
    }
    match (item["fieldRef"].is_null(), item["resourceFieldRef"].is_null()) {
        (true, true) => {
            errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
        }
        (false, other) => {
            let key = |name: &str| field.strip_prefix(name).is_some_and(|rest| rest.starts_with("['"));
            let keyed = key("metadata.labels") || key("metadata.annotations");
            if !field.is_empty() && !FIELDS.contains(&field) && !keyed {
                let allowed = FIELDS.map(Value::from);
                let at = format!("{path}.fieldRef.fieldPath");
                errors.push(FieldError::not_supported(at, &field.into(), &allowed));
            }
            if !other {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(invalid(path, "resource", why));
            }
        }
        _ => {}
    }
    mode(item, "mode", path, errors);
}

const PROJECTED: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// Minimum lifetime of a projected token, in seconds.
const TOKEN_SECONDS_MIN: i64 = 600;

pub(crate) fn projected(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    mode(source, "defaultMode", path, errors);
    let mut paths = HashSet::new();
    for (index, one) in source["sources"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{path}.sources[{index}]");
        let mut found = PROJECTED.iter().filter(|kind| !one[**kind].is_null());
        let Some(kind) = found.next() else { continue };
        if found.next().is_some() {
            errors.push(forbidden(at, "may not specify more than 1 volume type per source"));
            continue;
        }
        let inner = &one[*kind];
        let at = format!("{at}.{kind}");
        match *kind {
            "secret" | "configMap" => {
                needs(inner, "name", &at, errors);
                keys(inner, &at, errors);
                for item in inner["items"].as_array().into_iter().flatten() {
                    let file = text(item, "path");
                    if !paths.insert(file) && !file.is_empty() {
                        errors.push(invalid(path, text(inner, "name"), "conflicting duplicate paths"));
                    }
                }
            }
            "serviceAccountToken" => token(inner, path, &at, errors),
            _ => {}
        }
    }
}

fn token(source: &Value, path: &str, at: &str, errors: &mut Vec<FieldError>) {
    needs(source, "path", path, errors);
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(TOKEN_SECONDS_MIN);
    if seconds < TOKEN_SECONDS_MIN {
        let why = "may not specify a duration less than 10 minutes";
        errors.push(invalid(format!("{at}.expirationSeconds"), seconds, why));
    }
    if seconds > 1 << 32 {
        let why = "may not specify a duration larger than 2^32 seconds";
        errors.push(invalid(format!("{at}.expirationSeconds"), seconds, why));
    }
}
