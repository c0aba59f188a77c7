//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Map, Value};

use super::Strategy;
use super::default::{forbidden, invalid, required};

/// The strategy of `v1.ConfigMap`.
pub(crate) struct ConfigMaps;
/// The strategy of `v1.Secret`.
pub(crate) struct Secrets;

/// Maximum size of the data of one object, in bytes.
const MAX_SIZE: usize = 1024 * 1024;
const MAX_KEY: usize = 253;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

fn entries<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    object[field].as_object().into_iter().flatten()
}

/// Returns the problems of a key of `data`, in the words of upstream.
pub(super) fn key_problems(key: &str) -> Vec<String> {
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

fn check_keys(object: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for (key, _) in entries(object, field) {
        for problem in key_problems(key) {
            errors.push(invalid(format!("{field}[{key}]"), key.as_str(), problem));
        }
    }
}

fn bytes(value: &Value) -> usize {
    value.as_str().and_then(|text| STANDARD.decode(text).ok()).map_or(0, |bytes| bytes.len())
}

/// Returns errors for changed data or a cleared `immutable` field if the old object is immutable.
fn check_immutable(object: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
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

fn too_long(field: &str, limit: usize) -> FieldError {
    FieldError::bare(FieldErrorKind::TooLong, field, format!("may not be more than {limit} bytes"))
}

impl Strategy for Secrets {
    /// Merges `stringData` into `data`, where it takes precedence, and makes a Secret without a type `Opaque`.
    fn normalize(&self, object: &mut Value) {
        let Some(map) = object.as_object_mut() else { return };
        if let Some(Value::Object(plain)) = map.remove("stringData")
            && !plain.is_empty()
        {
            let data = map.entry("data").or_insert_with(|| Value::Object(Map::new()));
            if let Some(data) = data.as_object_mut() {
                let encode = |value: Value| STANDARD.encode(value.as_str().unwrap_or_default()).into();
                data.extend(plain.into_iter().map(|(key, value)| (key, encode(value))));
            }
        }
        if map.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
            map.insert("type".into(), "Opaque".into());
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check_keys(object, "data", &mut errors);
        let size: usize = entries(object, "data").map(|(_, value)| bytes(value)).sum();
        if size > MAX_SIZE {
            errors.push(too_long("data", MAX_SIZE));
        }
        errors.extend(check_type(object));
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if object["type"] != old["type"] {
            errors.push(invalid("type", object["type"].clone(), "field is immutable"));
        }
        errors.extend(check_immutable(object, old, &["data"]));
        errors.extend(self.validate(object));
        errors
    }

    fn selectable(&self) -> &'static [&'static str] {
        &["type"]
    }
}

/// Checks the keys that the well-known Secret types require.
fn check_type(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = |key: &str| {
        let value = object["data"].get(key)?.as_str()?;
        STANDARD.decode(value).ok()
    };
    let mut need = |key: &str| {
        if object["data"].get(key).is_none() {
            errors.push(required(format!("data[{key}]"), ""));
        }
    };
    match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            let annotation = &object["metadata"]["annotations"]["kubernetes.io/service-account.name"];
            if annotation.as_str().is_none_or(str::is_empty) {
                errors.push(required("metadata.annotations[kubernetes.io/service-account.name]", ""));
            }
        }
        "kubernetes.io/dockercfg" => docker(".dockercfg", text(".dockercfg"), &mut errors),
        "kubernetes.io/dockerconfigjson" => {
            docker(".dockerconfigjson", text(".dockerconfigjson"), &mut errors)
        }
        "kubernetes.io/basic-auth"
            if object["data"].get("username").is_none() && object["data"].get("password").is_none() =>
        {
            errors.push(required("data[username]", ""));
            errors.push(required("data[password]", ""));
        }
        "kubernetes.io/ssh-auth" if text("ssh-privatekey").is_none_or(|bytes| bytes.is_empty()) => {
            errors.push(required("data[ssh-privatekey]", ""));
        }
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        _ => {}
    }
    errors
}

fn docker(key: &str, content: Option<Vec<u8>>, errors: &mut Vec<FieldError>) {
    let field = format!("data[{key}]");
    match content {
        None => errors.push(required(field, "")),
        Some(bytes) => {
            if serde_json::from_slice::<Map<String, Value>>(&bytes).is_err() {
                errors.push(invalid(field, "<secret contents redacted>", crate::go_json::error(&bytes)));
            }
        }
    }
}
