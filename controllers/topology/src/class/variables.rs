//! The variables of a class with everybody who defines them.

use std::collections::BTreeMap;

use schemas::cluster::{
    ClusterClassStatusVariable, ClusterClassStatusVariableDefinition, ClusterClassVariable, JsonSchemaProps,
};
use schemas::variables::check_definitions;
use serde_json::Value;

use super::observed::{Discovered, Observed};

/// Who defines the variables that are in the class itself.
const INLINE: &str = "inline";
/// Fields of a schema that mean the same when they are false and when they are absent.
const OPTIONAL: [&str; 5] = [
    "uniqueItems",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
];

/// Returns all variables sorted by name.
///
/// # Errors
/// Returns what the extensions answered instead of variables, or what is wrong with those. Then the status keeps the variables it has.
pub fn all(observed: &Observed) -> Result<Vec<ClusterClassStatusVariable>, String> {
    let mut all: BTreeMap<&str, ClusterClassStatusVariable> = BTreeMap::new();
    for variable in &observed.class.spec.variables {
        add(&mut all, variable, INLINE);
    }
    let errors: Vec<String> = observed.discovered.iter().flat_map(problems).collect();
    if !errors.is_empty() {
        return Err(errors.join(", "));
    }
    for discovered in &observed.discovered {
        for variable in discovered.variables.iter().flatten() {
            add(&mut all, variable, &discovered.patch);
        }
    }
    Ok(all.into_values().collect())
}

/// Returns why the variables of an extension cannot be used: it failed, or a definition breaks a rule that those in a class must keep.
fn problems(discovered: &Discovered) -> Vec<String> {
    match &discovered.variables {
        Err(error) => vec![error.clone()],
        Ok(variables) => {
            let field = format!("{}.variables", discovered.patch);
            check_definitions(variables, &field).iter().map(ToString::to_string).collect()
        }
    }
}

/// Returns the names of the variables whose definitions differ.
pub fn conflicts(variables: &[ClusterClassStatusVariable]) -> Vec<&str> {
    let conflicting = variables.iter().filter(|variable| variable.definitions_conflict == Some(true));
    conflicting.map(|variable| variable.name.as_str()).collect()
}

fn add<'a>(
    all: &mut BTreeMap<&'a str, ClusterClassStatusVariable>,
    variable: &'a ClusterClassVariable,
    from: &str,
) {
    let definition = ClusterClassStatusVariableDefinition {
        deprecated_v1_beta1_metadata: variable.deprecated_v1_beta1_metadata.clone(),
        from: from.to_owned(),
        required: variable.required,
        schema: variable.schema.clone(),
    };
    let known = all.entry(variable.name.as_str()).or_insert_with(|| ClusterClassStatusVariable {
        name: variable.name.clone(),
        definitions: Vec::new(),
        definitions_conflict: Some(false),
    });
    if known.definitions.first().is_some_and(|first| !are_same(first, &definition)) {
        known.definitions_conflict = Some(true);
    }
    known.definitions.push(definition);
}

fn are_same(a: &ClusterClassStatusVariableDefinition, b: &ClusterClassStatusVariableDefinition) -> bool {
    a.required == b.required
        && a.deprecated_v1_beta1_metadata == b.deprecated_v1_beta1_metadata
        && meaning(&a.schema.open_api_v3_schema) == meaning(&b.schema.open_api_v3_schema)
}

/// Returns a schema without the fields that mean nothing.
fn meaning(schema: &JsonSchemaProps) -> Value {
    fn simplify(schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                fields
                    .retain(|name, value| *value != Value::Bool(false) || !OPTIONAL.contains(&name.as_str()));
                fields.values_mut().for_each(simplify);
            }
            Value::Array(schemas) => schemas.iter_mut().for_each(simplify),
            _ => {}
        }
    }
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    simplify(&mut schema);
    schema
}
