//! Structural validation of built-in types: required strings and enumerations.

use serde_json::Value;

use super::checks;
use super::index::{find, values};
use super::structure::{Field, FieldType, Type};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::schema::Presence;

/// Validates `object` against the type of that name. `metadata` has its own rules, and controllers write `status`, so
/// both are skipped.
pub fn validate(name: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(ty) = find(name) else { return errors };
    for declared in ty.fields.iter().filter(|field| !matches!(field.name, "metadata" | "status")) {
        field([ty.name; 2], declared, &object[declared.name], declared.name, &mut errors);
    }
    errors
}

/// Validates a struct. `outer` is the type into which `ty` is inlined, or `ty` itself.
fn structure(ty: &Type, outer: &'static str, object: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !object.is_object() || errors.len() >= MAX_FIELD_ERRORS {
        return;
    }
    for declared in &ty.fields {
        match (&declared.ty, declared.presence) {
            (FieldType::Named(inner), Presence::Inline) => {
                if let Some(inner) = find(inner) {
                    structure(inner, outer, object, path, errors);
                }
            }
            _ => {
                let path = format!("{path}.{}", declared.name);
                field([ty.name, outer], declared, &object[declared.name], &path, errors);
            }
        }
    }
}

/// Label selectors are validated as a whole by the checks of their fields.
const SELECTOR: &str = "meta.v1.LabelSelector";

/// Validates a field. `owners` are the type that declares the field and the type into which that type is inlined, or
/// the same type twice.
fn field(
    owners: [&'static str; 2],
    declared: &Field,
    found: &Value,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let owners = if owners[0] == owners[1] { &owners[..1] } else { &owners[..] };
    owners.iter().for_each(|owner| checks::check(owner, declared.name, found, path, errors));
    let structural = owners.iter().all(|owner| checks::are_structural(owner, declared.name));
    if declared.ty == FieldType::Named(SELECTOR) || !structural {
        return;
    }
    let is_enum = matches!(declared.ty, FieldType::Enum(_));
    if is_enum && declared.presence == Presence::NotNil && found == "" {
        return value(&declared.ty, found, path, errors);
    }
    if matches!(declared.ty, FieldType::Text | FieldType::Enum(_)) && found.as_str().is_none_or(str::is_empty)
    {
        if declared.required {
            errors.push(FieldError::bare(FieldErrorKind::Required, path, ""));
        }
        return;
    }
    value(&declared.ty, found, path, errors);
}

fn value(ty: &FieldType, found: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match ty {
        FieldType::Enum(name) => {
            let allowed = values(name);
            if found.as_str().is_some_and(|text| !allowed.contains(&text)) {
                let allowed: Vec<Value> = allowed.into_iter().map(Value::from).collect();
                errors.push(FieldError::not_supported(path, found, &allowed));
            }
        }
        FieldType::Named(name) => {
            if let Some(ty) = find(name).filter(|ty| ty.name != "meta.v1.ObjectMeta") {
                structure(ty, ty.name, found, path, errors);
            }
        }
        FieldType::List(item) => {
            for (index, found) in found.as_array().into_iter().flatten().enumerate() {
                value(item, found, &format!("{path}[{index}]"), errors);
            }
        }
        FieldType::Map(item) => {
            for (key, found) in found.as_object().into_iter().flatten() {
                value(item, found, &format!("{path}[{key}]"), errors);
            }
        }
        _ => {}
    }
}
