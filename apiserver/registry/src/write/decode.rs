//! Decodes request bodies to objects on which the rest of the registry can rely: types match the schema, unknown fields
//! are removed, and defaults are set.

use kinds::decode::empty;
use machinery::limits::MAX_DEFAULTS_SIZE;
use machinery::schema::Schema;
use machinery::status::Status;
use serde_json::{Map, Value};

use super::changed::Ownership;
use crate::context::{Context, FieldValidation, Input};
use crate::limits::LIST_ITEMS_MAX;
use crate::versions::definitions::Served;

/// Decodes the body of a create or an update.
pub(crate) fn input(context: &mut Context, served: &Served, input: Input) -> Result<Value, Status> {
    let mut object = input.object;
    let unknown = shape(served, &mut object).map_err(|problem| refused(served, &problem))?;
    let mut problems = input.strict_errors;
    problems.extend(unknown);
    strictness(context, problems).map_err(|problems| refused(served, &problems))?;
    Ok(object)
}

/// Returns the refusal `Kind in version "v1" cannot be handled as a Kind: …`.
pub(crate) fn refused(served: &Served, problem: &str) -> Status {
    let kind = &served.definition.kind;
    let version = &served.version.name;
    Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {problem}"))
}

/// Reports the findings of strict decoding according to `fieldValidation`. The error is the message of the refusal.
pub fn strictness(context: &mut Context, problems: Vec<String>) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    match context.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => context.warnings.extend(problems),
        FieldValidation::Strict => return Err(format!("strict decoding error: {}", problems.join(", "))),
    }
    Ok(())
}

/// Decodes `object` as its kind: checks types, removes unknown fields and sets defaults. Returns the findings of strict
/// decoding; the error describes a value of a wrong type.
pub(crate) fn shape(served: &Served, object: &mut Value) -> Result<Vec<String>, String> {
    let schema = &served.version.schema;
    if served.definition.built_in && !has_few_items(object, &mut { LIST_ITEMS_MAX }) {
        return Err(format!("its lists have more than {LIST_ITEMS_MAX} items"));
    }
    let unknown = if crate::versions::definitions::is_crd(served) {
        definition(served, object)?
    } else if served.definition.built_in {
        kinds::decode::decode(&served.definition, &served.version, object)?
    } else {
        machinery::schema::coerce(schema, object)?
    };
    metadata(object);
    fill(schema, object)?;
    if served.definition.built_in {
        write_nulls(schema, object);
    }
    served.strategy().normalize(object);
    Ok(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect())
}

/// Sets the defaults of a schema.
///
/// # Errors
/// The object would be larger than any that can be stored: each item of a list may get many defaults.
pub(crate) fn fill(schema: &Schema, object: &mut Value) -> Result<(), String> {
    match machinery::schema::default_within(schema, object, &mut { MAX_DEFAULTS_SIZE }) {
        true => Ok(()),
        false => Err(format!("its defaults have more than {MAX_DEFAULTS_SIZE} bytes")),
    }
}

/// Returns whether the lists in a value have at most `left` items, which are taken off.
fn has_few_items(value: &Value, left: &mut usize) -> bool {
    match value {
        Value::Array(items) => {
            let enough = items.len() <= *left;
            *left = left.saturating_sub(items.len());
            enough && items.iter().all(|item| has_few_items(item, left))
        }
        Value::Object(fields) => fields.values().all(|field| has_few_items(field, left)),
        _ => true,
    }
}

/// Decodes a CustomResourceDefinition. No schema describes the schemas that it contains, so only `metadata` is decoded
/// like that of other built-in kinds.
fn definition(served: &Served, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = apiextensions::crd::decode(object)?;
    let Some(map) = object.as_object_mut() else { return Ok(unknown) };
    let parts: Vec<(&str, Value)> =
        ["spec", "status"].into_iter().filter_map(|name| Some((name, map.remove(name)?))).collect();
    let decoded = kinds::decode::decode(&served.definition, &served.version, object);
    if let Some(map) = object.as_object_mut() {
        map.extend(parts.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    unknown.extend(decoded?);
    Ok(unknown)
}

/// Adds null for absent nullable fields of a built-in kind, because Go writes them as null.
pub(crate) fn write_nulls(schema: &Schema, object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    for (name, _) in schema.properties.iter().filter(|(_, field)| field.nullable) {
        map.entry(name).or_insert(Value::Null);
    }
}

/// Drops the nulls of an applied configuration that validation allows, because the schema says no type for them. kube-apiserver stores them,
/// and drops them whenever it reads the object.
pub(crate) fn drop_applied_nulls(served: &Served, ownership: Ownership, object: &mut Value) {
    if matches!(ownership, Ownership::Applied) && !served.definition.built_in {
        machinery::schema::drop_nulls(&served.version.schema, object);
    }
}

/// Makes `metadata` an object, and removes values that Go omits when they are empty.
pub(crate) fn metadata(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("selfLink");
        // An empty list of `managedFields` resets field ownership.
        metadata.retain(|name, value| !empty(value) || name == "managedFields" && value.is_array());
        if metadata.get("generation").and_then(Value::as_i64) == Some(0) {
            metadata.remove("generation");
        }
    }
}
