//! ConfigMaps, and the rules that Secrets share with them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Map, Value};

use crate::fields::{forbidden, invalid};
use crate::strategy::Strategy;

/// The strategy of `v1.ConfigMap`.
pub(crate) struct ConfigMaps;

/// Maximum size of the data of one object, in bytes.
pub(crate) const MAX_SIZE: usize = 1024 * 1024;
const MAX_KEY: usize = 253;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(crate) fn entries<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    object[field].as_object().into_iter().flatten()
}

/// Returns the problems of a key of `data`, in the words of upstream.
pub(crate) fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > MAX_KEY {
        problems.push(format!("must be no more than {MAX_KEY} characters"));
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(good) {
        problems.push("a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')".into());
    }
    match key {
        "." => problems.push("must not be '.'".into()),
        ".." => problems.push("must not be '..'".into()),
        key if key.starts_with("..") => problems.push("must not start with '..'".into()),
        _ => {}
    }
    problems
}

pub(crate) fn check_keys(object: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for (key, _) in entries(object, field) {
        for problem in key_problems(key) {
            errors.push(invalid(format!("{field}[{key}]"), key.as_str(), problem));
        }
    }
}

pub(crate) fn bytes(value: &Value) -> usize {
    value.as_str().and_then(|text| STANDARD.decode(text).ok()).map_or(0, |bytes| bytes.len())
}

/// Returns errors for changed data or a cleared `immutable` field if the old object is immutable.
pub(crate) fn check_immutable(object: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old["immutable"] != true {
        return errors;
    }
    if object["immutable"] != true {
        errors.push(forbidden("immutable", IMMUTABLE));
    }
    for field in fields {
        let nothing = Value::Object(Map::new());
        let some = |value: &Value| if value.is_null() { nothing.clone() } else { value.clone() };
        if some(&object[*field]) != some(&old[*field]) {
            errors.push(forbidden(*field, IMMUTABLE));
        }
    }
    errors
}

impl Strategy for ConfigMaps {
    fn metadata_repeats(&self) -> (usize, usize) {
        (2, 2)
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut size = 0;
        for (key, value) in entries(object, "data") {
            for problem in key_problems(key) {
                errors.push(invalid(format!("data[{key}]"), key.as_str(), problem));
            }
            if object["binaryData"].get(key).is_some() {
                errors.push(invalid(
                    format!("data[{key}]"),
                    key.as_str(),
                    "duplicate of key present in binaryData",
                ));
            }
            size += value.as_str().map_or(0, str::len);
        }
        check_keys(object, "binaryData", &mut errors);
        size += entries(object, "binaryData").map(|(_, value)| bytes(value)).sum::<usize>();
        if size > MAX_SIZE {
            errors.push(too_long("", MAX_SIZE));
        }
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = check_immutable(object, old, &["data", "binaryData"]);
        errors.extend(self.validate(object));
        errors
    }
}

pub(crate) fn too_long(field: &str, limit: usize) -> FieldError {
    FieldError::bare(FieldErrorKind::TooLong, field, format!("may not be more than {limit} bytes"))
}
