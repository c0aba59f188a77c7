//! The schemas of variables as structural schemas, which set defaults and check values.

use cel::{Known, Rules};
use machinery::field::{FieldError, FieldErrorKind, quote};
use machinery::limits::MAX_DEPTH;
use machinery::schema::{self, Schema, validate_part};
use serde_json::{Map, Value, json};

use crate::cluster::JsonSchemaProps;

/// The keywords of a schema. Others are ignored, as upstream's decoder does.
const KEYWORDS: [&str; 28] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];
const RULES: &str = "x-kubernetes-validations";
const RULE_FIELDS: [&str; 5] = ["fieldPath", "message", "messageExpression", "reason", "rule"];
/// The name of the value in the object that holds it: structural schemas begin with an object.
const VALUE: &str = "value";
/// The longest text of a value that an error shows, in bytes.
const SHOWN: usize = 1024;

/// Returns a schema in the form that schemas of custom objects have.
///
/// # Errors
/// A sentence: the schema is too deep.
pub(super) fn source(schema: &JsonSchemaProps) -> Result<Value, String> {
    let mut nested =
        [&schema.additional_properties, &schema.items, &schema.not, &schema.properties, &schema.default]
            .into_iter()
            .chain([&schema.all_of, &schema.any_of, &schema.one_of, &schema.example])
            .flatten()
            .chain(&schema.enum_);
    if nested.any(|value| is_deeper(value, MAX_DEPTH)) {
        return Err(format!("is nested deeper than {MAX_DEPTH} levels"));
    }
    let mut source = serde_json::to_value(schema).map_err(|error| error.to_string())?;
    clean(&mut source);
    Ok(source)
}

/// Returns whether a value has more than `most` levels. It needs no stack, as the value may have any number of them.
fn is_deeper(value: &Value, most: usize) -> bool {
    let mut rest = vec![(value, 1)];
    while let Some((value, level)) = rest.pop() {
        if level > most {
            return true;
        }
        match value {
            Value::Array(list) => rest.extend(list.iter().map(|item| (item, level + 1))),
            Value::Object(map) => rest.extend(map.values().map(|item| (item, level + 1))),
            _ => {}
        }
    }
    false
}

/// Removes what the types of Cluster API do not have or take for absent.
fn clean(source: &mut Value) {
    let Some(map) = source.as_object_mut() else { return };
    map.retain(|key, value| !value.is_null() && (key == RULES || KEYWORDS.contains(&key.as_str())));
    if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        map.remove("x-kubernetes-preserve-unknown-fields");
    }
    if let Some(allowed) = map.get_mut("enum").and_then(Value::as_array_mut) {
        allowed.retain(|value| !value.is_null());
    }
    for rule in list_of(map, RULES) {
        if let Some(rule) = rule.as_object_mut() {
            rule.retain(|key, _| RULE_FIELDS.contains(&key.as_str()));
        }
    }
    for key in ["additionalProperties", "items", "not"] {
        map.get_mut(key).into_iter().for_each(clean);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        list_of(map, key).for_each(clean);
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(clean);
}

fn list_of<'a>(map: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Value> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The schema of one variable, ready for values.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The schema of an object whose only field is the value.
    holder: Schema,
    rules: Rules,
}

impl Compiled {
    /// Compiles the schema of a definition.
    ///
    /// # Errors
    /// A sentence with what is wrong in the schema.
    pub(super) fn of(schema: &JsonSchemaProps) -> Result<Self, String> {
        let holder = json!({ "type": "object", "properties": { VALUE: source(schema)? } });
        let holder = Schema::parse(&holder).map_err(|error| error.to_string())?;
        Ok(Self { rules: Rules::of(&holder), holder })
    }

    /// Fills in the defaults of a value; null is no value. `left` are the bytes that the defaults may have. Returns whether these were enough.
    pub(super) fn default(&self, value: &mut Value, left: &mut usize) -> bool {
        let mut object = json!({ VALUE: value.take() });
        let is_filled = schema::default_within(&self.holder, &mut object, left);
        *value = object[VALUE].take();
        is_filled
    }

    /// Checks a value: types and limits, then unknown fields, then rules. `old` is the value before an update. `field` is the path
    /// of the variable.
    pub(super) fn check(
        &self,
        name: &str,
        field: &str,
        value: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let Some(schema) = self.value_schema() else { return Vec::new() };
        let place = format!("{field}.value");
        let mut found = validate_part(schema, &place, value, None);
        for error in &mut found {
            // Upstream has no field name at the top, only the space before it.
            if let Some(detail) = error.detail.strip_prefix(" in body ") {
                error.detail = detail.to_owned();
            }
        }
        if found.is_empty() {
            found.extend(self.unknown_fields(name, field, value));
        }
        if found.is_empty() {
            found = self.broken_rules(schema, &place, value, old);
        }
        // Rules show no value of a list or an object. A variable is shown whole, as upstream does.
        let shows = |error: &FieldError| error.value.is_some() || error.kind == FieldErrorKind::Invalid;
        for error in found.iter_mut().filter(|error| shows(error)) {
            error.value = Some(quote(&shown(value)));
        }
        found
    }

    fn unknown_fields(&self, name: &str, field: &str, value: &Value) -> Option<FieldError> {
        let mut object = json!({ VALUE: value });
        let unknown = schema::prune(&self.holder, &mut object);
        if unknown.is_empty() {
            return None;
        }
        let names: Vec<&str> = unknown
            .iter()
            .map(|path| path.strip_prefix(VALUE).unwrap_or(path).trim_start_matches('.'))
            .collect();
        let detail = format!("{:?}: the schema of the variable {name:?} has no such field", names.join(","));
        Some(FieldError::new(FieldErrorKind::Invalid, field, &Value::Null, detail))
    }

    /// Evaluates all rules, also those over values that an update leaves as they are.
    fn broken_rules(
        &self,
        schema: &Schema,
        place: &str,
        value: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let Some(rules) = self.rules.property(VALUE) else { return Vec::new() };
        let mut found = rules.validate(schema, value, old, Known::default());
        if let Some(old) = old {
            found.extend(rules.ratcheted(schema, value, old));
        }
        for error in &mut found {
            let dot = if error.field.is_empty() || error.field.starts_with('[') { "" } else { "." };
            error.field = format!("{place}{dot}{}", error.field);
        }
        found
    }

    fn value_schema(&self) -> Option<&Schema> {
        self.holder.properties.get(VALUE).map(Box::as_ref)
    }
}

/// Returns a value as JSON for an error, cut off if it is long.
pub(super) fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > SHOWN {
        let end = (0..=SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}
