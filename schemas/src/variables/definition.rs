//! The definitions of variables in a class.

use std::collections::BTreeSet;

use apiextensions::crd::validate_value_schema;
use cel::{Known, Rules};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::names;
use machinery::pattern;
use machinery::schema::{Schema, validate_part};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema::source;
use crate::cluster::{
    ClusterClassStatusVariable, ClusterClassStatusVariableDefinition, ClusterClassVariable, JsonSchemaProps,
    VariableMetadata,
};

/// The name of the class itself among the sources of definitions; the others are external patches.
pub const INLINE: &str = "inline";
/// The variable with what Cluster API knows about a cluster, which patches can use.
const BUILTIN: &str = "builtin";

/// Returns the definitions in a class's spec in the form of its status, sorted by name.
pub fn inline_definitions(variables: &[ClusterClassVariable]) -> Vec<ClusterClassStatusVariable> {
    let mut found: Vec<_> = variables.iter().map(inline_definition).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn inline_definition(variable: &ClusterClassVariable) -> ClusterClassStatusVariable {
    let definition = ClusterClassStatusVariableDefinition {
        deprecated_v1_beta1_metadata: variable.deprecated_v1_beta1_metadata.clone(),
        from: INLINE.to_owned(),
        required: variable.required,
        schema: variable.schema.clone(),
    };
    ClusterClassStatusVariable {
        definitions: vec![definition],
        definitions_conflict: Some(false),
        name: variable.name.clone(),
    }
}

/// Returns what is wrong with the definitions of a class: their names, metadata and schemas. A schema follows the rules of
/// CustomResourceDefinitions; its rules in CEL have their limits of estimated cost for each variable. The patterns of all variables, and the
/// rules over all defaults and examples, have the limits of one object.
pub fn check_definitions(variables: &[ClusterClassVariable], field: &str) -> Vec<FieldError> {
    pattern::limited(|| cel::limited(|| check_all(variables, field)))
}

fn check_all(variables: &[ClusterClassVariable], field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for variable in variables {
        let field = format!("{field}[{}]", variable.name);
        if !names.insert(variable.name.as_str()) {
            let detail =
                format!("names of variables must be unique: {:?} is defined more than once", variable.name);
            errors.push(invalid(format!("{field}.name"), &variable.name, detail));
        }
        name(&variable.name, &format!("{field}.name"), &mut errors);
        if let Some(found) = &variable.deprecated_v1_beta1_metadata {
            metadata(found, &format!("{field}.deprecatedV1Beta1Metadata"), &mut errors);
        }
        schema(&variable.schema.open_api_v3_schema, &format!("{field}.schema.openAPIV3Schema"), &mut errors);
        if errors.len() >= MAX_FIELD_ERRORS {
            errors.truncate(MAX_FIELD_ERRORS);
            break;
        }
    }
    errors
}

fn name(name: &str, field: &str, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        errors.push(FieldError::bare(FieldErrorKind::Required, field, "a variable must have a name"));
    }
    if name == BUILTIN {
        errors.push(invalid(field, name, "this name is reserved for what Cluster API knows about a cluster"));
    }
    if name.contains('.') {
        errors.push(invalid(field, name, "must not contain a dot, which separates the fields of a value"));
    }
}

fn metadata(metadata: &VariableMetadata, field: &str, errors: &mut Vec<FieldError>) {
    for (key, value) in &metadata.labels {
        let problems = names::qualified_name(key);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{field}.labels"), key, why)));
        let problems = names::label_value(value);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{field}.labels"), value, why)));
    }
    for key in metadata.annotations.keys() {
        let problems = names::qualified_name(&key.to_lowercase());
        errors.extend(problems.into_iter().map(|why| invalid(format!("{field}.annotations"), key, why)));
    }
}

fn schema(schema: &JsonSchemaProps, field: &str, errors: &mut Vec<FieldError>) {
    let source = match source(schema) {
        Ok(source) => source,
        Err(why) => {
            errors.push(FieldError::bare(FieldErrorKind::Invalid, field, why));
            return;
        }
    };
    if let Some(found) = &schema.x_metadata {
        metadata(found, &format!("{field}.x-metadata"), errors);
    }
    let below = [("additionalProperties", &schema.additional_properties), ("items", &schema.items)];
    for (keyword, nested) in below {
        nested.iter().for_each(|nested| nested_metadata(nested, &format!("{field}.{keyword}"), errors));
    }
    let properties = schema.properties.as_ref().and_then(Value::as_object);
    properties_metadata(properties, field, errors);
    let before = errors.len();
    errors.extend(validate_value_schema(&source, field));
    if errors.len() == before
        && let Ok(schema) = Schema::parse(&source)
    {
        let rules = Rules::of(&schema);
        examples(&source, &schema, Some(&rules), field, errors);
    }
}

/// Checks labels and annotations of schemas inside others. The depth was checked before.
fn nested_metadata(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    if let Ok(found) = VariableMetadata::deserialize(&schema["x-metadata"]) {
        metadata(&found, &format!("{field}.x-metadata"), errors);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(nested) = schema.get(keyword) {
            nested_metadata(nested, &format!("{field}.{keyword}"), errors);
        }
    }
    properties_metadata(schema.get("properties").and_then(Value::as_object), field, errors);
}

fn properties_metadata(properties: Option<&Map<String, Value>>, field: &str, errors: &mut Vec<FieldError>) {
    for (name, nested) in properties.into_iter().flatten() {
        nested_metadata(nested, &format!("{field}.properties[{name}]"), errors);
    }
}

/// Checks that the example and the possible values of each schema are valid themselves.
fn examples(
    source: &Value,
    schema: &Schema,
    rules: Option<&Rules>,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    if errors.len() >= MAX_FIELD_ERRORS {
        return;
    }
    if let Some(example) = source.get("example") {
        valid(example, schema, rules, &format!("{field}.example"), errors);
    }
    for (index, allowed) in schema.validation.allowed.iter().flatten().enumerate() {
        valid(allowed, schema, rules, &format!("{field}.enum[{index}]"), errors);
    }
    let nested = |keyword: &str| source.get(keyword).unwrap_or(&Value::Null);
    for (name, property) in &schema.properties {
        let rules = rules.and_then(|rules| rules.property(name));
        let source = nested("properties").get(name).unwrap_or(&Value::Null);
        examples(source, property, rules, &format!("{field}.properties[{name}]"), errors);
    }
    if let Some(additional) = &schema.additional_properties {
        let rules = rules.and_then(Rules::additional);
        examples(
            nested("additionalProperties"),
            additional,
            rules,
            &format!("{field}.additionalProperties"),
            errors,
        );
    }
    if let Some(items) = &schema.items {
        examples(nested("items"), items, rules.and_then(Rules::items), &format!("{field}.items"), errors);
    }
}

fn valid(value: &Value, schema: &Schema, rules: Option<&Rules>, field: &str, errors: &mut Vec<FieldError>) {
    let mut found = validate_part(schema, field, value, None);
    if found.is_empty()
        && let Some(rules) = rules
    {
        found = rules.validate(schema, value, None, Known::default());
        for error in &mut found {
            let dot = if error.field.is_empty() || error.field.starts_with('[') { "" } else { "." };
            error.field = format!("{field}{dot}{}", error.field);
        }
    }
    errors.extend(found);
}

fn invalid(field: impl Into<String>, value: &str, detail: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, &value.into(), detail)
}
