//! Validation of volume sources with driver-specific rules.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{invalid, required, text};

pub(crate) fn flocker(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match (text(source, "datasetName"), text(source, "datasetUUID")) {
        ("", "") => errors.push(required(path, "one of datasetName and datasetUUID is required")),
        ("", _) => {}
        (name, "") if name.contains('/') => {
            errors.push(invalid(format!("{path}.datasetName"), name, "must not contain '/'"));
        }
        (_, "") => {}
        _ => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(invalid(path, "resource", why));
        }
    }
}

pub(crate) fn flex(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let reserved = |key: &str| {
        let domain = key.split('/').next().unwrap_or_default();
        ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|name| domain == *name || domain.ends_with(&format!(".{name}")))
    };
    let options = source["options"].as_object().into_iter().flatten();
    for (key, _) in options.filter(|(key, _)| reserved(key)) {
        let why = "kubernetes.io and k8s.io namespaces are reserved";
        errors.push(invalid(format!("{path}.options[{key}]"), key.as_str(), why));
    }
}

pub(crate) fn iscsi(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (name, field) = (text(source, "iqn"), format!("{path}.iqn"));
    if !name.is_empty() && !["iqn", "eui", "naa"].iter().any(|start| name.starts_with(start)) {
        errors.push(invalid(field, name, "must be valid format starting with iqn, eui, or naa"));
    }
    let number = source["lun"].as_i64().unwrap_or(0);
    if !(0..=255).contains(&number) {
        errors.push(invalid(format!("{path}.lun"), number, "must be between 0 and 255, inclusive"));
    }
    let signs_in = ["chapAuthDiscovery", "chapAuthSession"].iter().any(|field| source[*field] == true);
    if signs_in && source["secretRef"].is_null() {
        errors.push(required(format!("{path}.secretRef"), ""));
    }
}

pub(crate) fn fibre(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let any = |field: &str| source[field].as_array().is_some_and(|list| !list.is_empty());
    let field = format!("{path}.targetWWNs");
    match (any("targetWWNs"), any("wwids")) {
        (false, false) => {
            errors.push(required(field, "must specify either targetWWNs or wwids, but not both"));
        }
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.push(invalid(field, source["targetWWNs"].clone(), why));
        }
        _ => {}
    }
    if !any("targetWWNs") {
        return;
    }
    match source["lun"].as_i64() {
        None => errors.push(required(format!("{path}.lun"), "lun is required if targetWWNs is specified")),
        Some(number) if !(0..=255).contains(&number) => {
            errors.push(invalid(format!("{path}.lun"), number, "must be between 0 and 255, inclusive"));
        }
        Some(_) => {}
    }
}

pub(crate) fn azure_disk(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (field, allowed) in
        [("cachingMode", ["None", "ReadOnly", "ReadWrite"]), ("kind", ["Dedicated", "Managed", "Shared"])]
    {
        if let Some(found) = source[field].as_str().filter(|found| !allowed.contains(found)) {
            let field = format!("{path}.{field}");
            errors.push(FieldError::not_supported(field, &found.into(), &allowed.map(Value::from)));
        }
    }
    let disk = text(source, "diskURI");
    let prefixes = ["https://", "http://"];
    let managed = source["kind"] == "Managed";
    if managed && !disk.starts_with("/subscriptions/") {
        let allowed = [
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ];
        errors.push(FieldError::not_supported(
            format!("{path}.diskURI"),
            &disk.into(),
            &allowed.map(Value::from),
        ));
    } else if !managed && !disk.is_empty() && !prefixes.iter().any(|start| disk.starts_with(start)) {
        let allowed = ["https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"];
        errors.push(FieldError::not_supported(
            format!("{path}.diskURI"),
            &disk.into(),
            &allowed.map(Value::from),
        ));
    }
}
