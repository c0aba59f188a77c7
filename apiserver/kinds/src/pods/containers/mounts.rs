//! Validation of the volume mounts and block devices of containers, as kube-apiserver does it.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use crate::fields::{forbidden, invalid, list, text};
use crate::pods::volumes::paths::relative;

/// Returns the names and the paths of the items in `field` of a container.
fn taken<'v>(container: &'v Value, field: &str, path: &str) -> (BTreeSet<&'v str>, BTreeSet<&'v str>) {
    let items = list(container, field).iter();
    items.map(|item| (text(item, "name"), text(item, path))).unzip()
}

/// Validates `volumeMounts` of the container at `path`.
pub(crate) fn mounts(
    container: &Value,
    path: &str,
    volumes: &BTreeMap<String, &Value>,
    errors: &mut Vec<FieldError>,
) {
    let mut places = BTreeSet::new();
    let (devices, device_paths) = taken(container, "volumeDevices", "devicePath");
    // Some errors of kube-apiserver do not contain the index of the mount.
    let all = format!("{path}.volumeMounts");
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{all}[{index}]");
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if !volumes.contains_key(name) {
            errors.push(FieldError::new(FieldErrorKind::NotFound, format!("{path}.name"), &name.into(), ""));
        }
        if !places.insert(place) {
            errors.push(invalid(format!("{path}.mountPath"), place, "must be unique"));
        }
        if devices.contains(name) {
            let why = "must not already exist in volumeDevices";
            errors.push(invalid(format!("{path}.name"), name, why));
        }
        if device_paths.contains(place) {
            let why = "must not already exist as a path in volumeDevices";
            errors.push(invalid(format!("{path}.mountPath"), place, why));
        }
        let (below, computed) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        relative(below, &format!("{all}.subPath"), errors);
        if !computed.is_empty() && !below.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.push(invalid(format!("{path}.subPathExpr"), computed, why));
        }
        relative(computed, &format!("{all}.subPathExpr"), errors);
        shared(mount, container, &all, errors);
    }
}

/// Validates `mountPropagation` and `recursiveReadOnly` of a mount.
fn shared(mount: &Value, container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let known = ["Bidirectional", "HostToContainer", "None"];
    let propagation = text(mount, "mountPropagation");
    let field = format!("{path}.mountPropagation");
    if !mount["mountPropagation"].is_null() && !known.contains(&propagation) {
        let allowed = known.map(Value::from);
        errors.push(FieldError::not_supported(field.clone(), &propagation.into(), &allowed));
    }
    if propagation == "Bidirectional" && container["securityContext"]["privileged"] != true {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(forbidden(field, why));
    }
    let field = format!("{path}.recursiveReadOnly");
    match mount["recursiveReadOnly"].as_str() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if mount["readOnly"] != true {
                errors.push(forbidden(field.clone(), "may only be specified when readOnly is true"));
            }
            if !matches!(propagation, "" | "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push(forbidden(field, why));
            }
        }
        Some(other) => {
            let allowed = ["Disabled", "Enabled", "IfPossible"].map(Value::from);
            errors.push(FieldError::not_supported(field, &other.into(), &allowed));
        }
    }
}

/// Validates `volumeDevices` of the container at `path`.
pub(crate) fn devices(
    container: &Value,
    path: &str,
    volumes: &BTreeMap<String, &Value>,
    errors: &mut Vec<FieldError>,
) {
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let (mounted, mount_paths) = taken(container, "volumeMounts", "mountPath");
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let at = |field: &str| format!("{path}.volumeDevices[{index}].{field}");
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        if names.contains(name) {
            errors.push(invalid(at("name"), name, "must be unique"));
        }
        match volumes.get(name) {
            None => errors.push(FieldError::new(FieldErrorKind::NotFound, at("name"), &name.into(), "")),
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.push(invalid(at("name"), name, why));
            }
            Some(_) => {}
        }
        if paths.contains(place) {
            errors.push(invalid(at("devicePath"), place, "must be unique"));
        }
        if place.split('/').any(|step| step == "..") {
            errors.push(invalid(at("devicePath"), place, "can not contain backsteps ('..')"));
        } else {
            paths.insert(place);
        }
        if mounted.contains(name) {
            errors.push(invalid(at("name"), name, "must not already exist in volumeMounts"));
        }
        if mount_paths.contains(place) {
            let why = "must not already exist as a path in volumeMounts";
            errors.push(invalid(at("devicePath"), place, why));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
