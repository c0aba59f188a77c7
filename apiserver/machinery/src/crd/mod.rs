//! Decoding, defaulting, validation and conditions of CustomResourceDefinitions, as in apiextensions-apiserver. All
//! functions work on the object as JSON in version v1.

mod conditions;
mod conversion;
mod decode;
mod defaults;
mod formats;
mod keywords;
mod names;
mod rules;
mod spec;
mod structural;

pub use conditions::{
    CLEANUP_FINALIZER, Taken, accept_names, is_established, prepare_for_create, prepare_for_update,
    remove_condition, set_condition,
};
pub use decode::decode;
pub use formats::format_warnings;
pub use spec::{validate, validate_status_update, validate_update};

use serde_json::Value;

use crate::field::{FieldError, FieldErrorKind};

/// Applies the defaults of the API: singular name, list kind, conversion strategy, port of the conversion webhook's
/// service, and stored versions.
pub fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let missing = |found: Option<&Value>| found.and_then(Value::as_str).is_none_or(str::is_empty);
        if missing(names.get("singular")) && !kind.is_empty() {
            names.insert("singular".into(), kind.to_lowercase().into());
        }
        if missing(names.get("listKind")) && !kind.is_empty() {
            names.insert("listKind".into(), format!("{kind}List").into());
        }
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = serde_json::json!({"strategy": "None"});
    }
    let service = conversion.pointer_mut("/webhook/clientConfig/service").and_then(Value::as_object_mut);
    if let Some(service) = service.filter(|service| service.get("port").is_none_or(Value::is_null)) {
        service.insert("port".into(), 443.into());
    }
    conditions::default_stored_versions(object);
}

/// Works like [`Value::pointer`] for names without escapes, but does not allocate.
fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(value, |value, name| value.get(name))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn invalid(field: impl Into<String>, value: &Value, detail: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, value, detail)
}

fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Required, field, detail)
}

fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Forbidden, field, detail)
}

fn unsupported(field: impl Into<String>, value: &Value, allowed: &[&str]) -> FieldError {
    let allowed: Vec<Value> = allowed.iter().map(|text| Value::from(*text)).collect();
    FieldError::not_supported(field, value, &allowed)
}
