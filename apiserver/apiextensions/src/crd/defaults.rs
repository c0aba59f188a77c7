//! Validation of the defaults in a schema.

use cel::{Known, Rules};
use machinery::field::FieldError;
use machinery::limits::MAX_DEFAULTS_SIZE;
use machinery::schema::{Schema, default_within, prune, validate_embedded, validate_part};

use super::errors::invalid;

/// Validates all defaults of a structural schema.
pub(super) fn validate(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, Some(&Rules::of(schema)), path, true, &mut errors);
    errors
}

/// Validates all defaults of the schema of a value inside an object.
pub(super) fn validate_value(schema: &Schema, rules: &Rules, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, Some(rules), path, false, &mut errors);
    errors
}

fn walk(schema: &Schema, rules: Option<&Rules>, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    if !schema.has_defaults {
        return;
    }
    check(schema, rules, &format!("{path}.default"), root, errors);
    for (name, property) in &schema.properties {
        let rules = rules.and_then(|rules| rules.property(name));
        walk(property, rules, &format!("{path}.properties[{name}]"), false, errors);
    }
    // kube-apiserver does not look below `additionalProperties`.
    if let Some(items) = &schema.items {
        walk(items, rules.and_then(Rules::items), &format!("{path}.items"), false, errors);
    }
}

fn check(schema: &Schema, rules: Option<&Rules>, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    let Some(written) = &schema.default else { return };
    if root || schema.has_embedded {
        let mut holder = Schema::default();
        let embedded_resource = root || schema.embedded_resource;
        let embedded = Schema { embedded_resource, has_embedded: true, ..schema.clone() };
        holder.properties.insert("default".into(), Box::new(embedded));
        let object = serde_json::json!({"default": written});
        let prefix = path.strip_suffix("default").unwrap_or_default();
        errors.extend(
            validate_embedded(&holder, &object)
                .into_iter()
                .map(|error| FieldError { field: format!("{prefix}{}", error.field), ..error }),
        );
    }
    let mut pruned = written.clone();
    let inner = Schema { embedded_resource: schema.embedded_resource || root, ..schema.clone() };
    if !prune_value(&inner, &mut pruned) {
        errors.push(invalid(path, written, "must not have unknown fields"));
    }
    let mut filled = pruned;
    if !default_within(schema, &mut filled, &mut { MAX_DEFAULTS_SIZE }) {
        errors.push(invalid(path, &"".into(), too_large()));
        return;
    }
    let found = validate_part(&typed_by_kind(schema), path, &filled, None);
    if let Some(rules) = rules.filter(|_| found.is_empty() && !root) {
        let broken = rules.validate(schema, &filled, None, Known::default());
        errors.extend(broken.into_iter().map(|error| {
            let dot = if error.field.is_empty() || error.field.starts_with('[') { "" } else { "." };
            FieldError { field: format!("{path}{dot}{}", error.field), ..error }
        }));
    }
    errors.extend(found);
}

/// Returns the schema without `int_or_string`, because the default of such a field may have any type. Only values in
/// objects are restricted to integers and strings.
fn typed_by_kind(schema: &Schema) -> Schema {
    let below = |child: &Schema| Box::new(typed_by_kind(child));
    Schema {
        int_or_string: false,
        properties: schema.properties.iter().map(|(name, child)| (name.clone(), below(child))).collect(),
        additional_properties: schema.additional_properties.as_deref().map(below),
        items: schema.items.as_deref().map(below),
        ..schema.clone()
    }
}

/// Prunes a value and returns whether nothing was removed. Only resources keep `apiVersion`, `kind` and `metadata`.
fn prune_value(schema: &Schema, value: &mut serde_json::Value) -> bool {
    let mut holder = Schema::default();
    holder.properties.insert("value".into(), Box::new(schema.clone()));
    let mut object = serde_json::json!({"value": value});
    let clean = prune(&holder, &mut object).is_empty();
    *value = object["value"].take();
    clean
}

fn too_large() -> String {
    format!("with the defaults inside of it, it is larger than {MAX_DEFAULTS_SIZE} bytes")
}
