//! Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::field::FieldError;
use serde_json::{Map, Value};

use super::config_map::{MAX_SIZE, bytes, check_immutable, check_keys, entries, too_long};
use crate::fields::{invalid, required};
use crate::strategy::Strategy;

/// The strategy of `v1.Secret`.
pub(crate) struct Secrets;

impl Strategy for Secrets {
    fn metadata_repeats(&self) -> (usize, usize) {
        (2, 2)
    }

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
                errors.push(invalid(field, "<secret contents redacted>", crate::decode::json_error(&bytes)));
            }
        }
    }
}
