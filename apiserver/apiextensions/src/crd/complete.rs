//! Defaults of a CustomResourceDefinition.

use serde_json::Value;

use super::conditions::default_stored_versions;

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
    default_stored_versions(object);
}
