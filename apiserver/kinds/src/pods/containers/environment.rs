//! Validation of environment variables and their sources.

use std::collections::BTreeMap;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::qualified_name;
use serde_json::Value;

use super::resource_ref::resource_ref;
use crate::configuration::config_map;
use crate::fields::{invalid, list, text};

/// The fields of `valueFrom`, of which exactly one may be set.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

pub(crate) fn environment(
    container: &Value,
    path: &str,
    volumes: &BTreeMap<String, &Value>,
    errors: &mut Vec<FieldError>,
) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if !name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') {
            let why = "a valid environment variable name must consist only of printable ASCII characters other \
                       than '='";
            errors.push(invalid(format!("{path}.env[{index}].name"), name, why));
        }
        let path = format!("{path}.env[{index}].valueFrom");
        let from = &variable["valueFrom"];
        if !from.is_object() {
            continue;
        }
        let given = SOURCES.iter().filter(|source| !from[**source].is_null()).count();
        if given == 0 {
            let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(invalid(path, "", why));
        } else if !text(variable, "value").is_empty() {
            errors.push(invalid(path, "", "may not be specified when `value` is not empty"));
        } else if given > 1 {
            errors.push(invalid(path, "", "may not have more than one field specified at a time"));
        } else {
            field_ref(&from["fieldRef"], &path, errors);
            resource_ref(&from["resourceFieldRef"], &path, errors);
            for source in ["configMapKeyRef", "secretKeyRef"] {
                let key = text(&from[source], "key");
                let problems = if key.is_empty() { Vec::new() } else { config_map::key_problems(key) };
                let field = format!("{path}.{source}.key");
                errors.extend(problems.into_iter().map(|why| invalid(field.clone(), key, why)));
            }
            file_ref(&from["fileKeyRef"], &format!("{path}.fileKeyRef"), volumes, errors);
        }
    }
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        if source["configMapRef"].is_null() && source["secretRef"].is_null() {
            // The error of kube-apiserver does not contain the index.
            let _ = index;
            let why = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(invalid(format!("{path}.envFrom"), "", why));
        } else if source["configMapRef"].is_object() && source["secretRef"].is_object() {
            let why = "may not have more than one field specified at a time";
            errors.push(invalid(format!("{path}.envFrom"), "", why));
        }
    }
}

/// Validates a `fileKeyRef`, which refers to a file in an `emptyDir` volume.
fn file_ref(reference: &Value, path: &str, volumes: &BTreeMap<String, &Value>, errors: &mut Vec<FieldError>) {
    if !reference.is_object() {
        return;
    }
    let (name, field) = (text(reference, "volumeName"), format!("{path}.volumeName"));
    match volumes.get(name) {
        None => errors.push(FieldError::new(FieldErrorKind::NotFound, field, &name.into(), "")),
        Some(volume) if volume["emptyDir"].is_null() => {
            errors.push(invalid(field, name, "referenced volume must be of type emptyDir"));
        }
        Some(_) => {}
    }
}

/// Validates a `fieldRef` of an environment variable.
fn field_ref(reference: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const FIELDS: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    /// Fields that field selectors support but environment variables do not.
    const SELECTABLE: [&str; 7] = [
        "metadata.annotations",
        "metadata.labels",
        "spec.hostNetwork",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.nominatedNodeName",
        "status.phase",
    ];
    let (field, version) = (text(reference, "fieldPath"), text(reference, "apiVersion"));
    let at = format!("{path}.fieldRef.fieldPath");
    if field.is_empty() {
        return;
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    if let Some((map, key)) = subscript {
        let key = if map == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        if !matches!(map, "metadata.annotations" | "metadata.labels") {
            errors.push(invalid(format!("{path}.fieldRef"), map, "does not support subscript"));
            return;
        }
        let problems = qualified_name(&key);
        let at = format!("{path}.fieldRef");
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), key.as_str(), why)));
    } else if !matches!(version, "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(invalid(at, field, why));
    } else if SELECTABLE.contains(&field) {
        errors.push(FieldError::not_supported(at, &field.into(), &FIELDS.map(Value::from)));
    } else if !FIELDS.contains(&field) {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(invalid(at, field, why));
    }
}
