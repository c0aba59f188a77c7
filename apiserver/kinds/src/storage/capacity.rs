//! Validation of capacity and access modes, which PersistentVolumes and PersistentVolumeClaims share.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{forbidden, invalid, required};

pub(crate) fn positive(amount: &Value, path: &str) -> Option<FieldError> {
    let shown = amount.as_str()?;
    let value = machinery::quantity::nanos(shown)?;
    (value <= 0).then(|| invalid(path, shown, "must be greater than zero"))
}

pub(crate) fn access_modes(spec: &Value, path: &str, why: &str) -> Vec<FieldError> {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = spec["accessModes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let path = format!("{path}.accessModes");
    if modes.is_empty() {
        return vec![required(path, why)];
    }
    let unknown = modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode)));
    let mut errors: Vec<FieldError> =
        unknown.map(|mode| FieldError::not_supported(&path, mode, &MODES.map(Value::from))).collect();
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        errors.push(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
    errors
}
