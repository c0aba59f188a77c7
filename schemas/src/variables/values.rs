//! The values of one list of variables, such as `spec.topology.variables`.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::{MAX_DEFAULTS_SIZE, MAX_FIELD_ERRORS};
use serde_json::Value;

use super::schema::{Compiled, shown};
use crate::cluster::{ClusterClassStatusVariable, ClusterVariable, JsonSchemaProps};

/// Whether a list has the values of the whole cluster, or overrides for a part of it. Only the first gets variables that it does
/// not have, and must have those that are required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Cluster,
    Overrides,
}

/// The definitions of a class, by name. A schema is compiled at its first use.
pub(super) struct Definitions<'a> {
    /// In the order of the class, in which defaults are added.
    names: Vec<&'a str>,
    by_name: BTreeMap<&'a str, Definition<'a>>,
}

struct Definition<'a> {
    required: bool,
    schema: &'a JsonSchemaProps,
    compiled: OnceCell<Result<Compiled, String>>,
}

impl<'a> Definitions<'a> {
    /// Takes the definitions from the status of a class.
    ///
    /// # Errors
    /// A sentence: sources differ about a variable, or there is none.
    pub(super) fn new(variables: &'a [ClusterClassStatusVariable]) -> Result<Self, String> {
        let mut by_name = BTreeMap::new();
        for variable in variables {
            // Without a conflict, all definitions are the same.
            let Some(first) = variable.definitions.first() else {
                return Err(format!("the class has no definition of the variable {:?}", variable.name));
            };
            if variable.definitions_conflict == Some(true) {
                return Err(format!(
                    "the class has conflicting definitions of the variable {:?}",
                    variable.name
                ));
            }
            let schema = &first.schema.open_api_v3_schema;
            let definition = Definition { required: first.required, schema, compiled: OnceCell::new() };
            by_name.insert(variable.name.as_str(), definition);
        }
        Ok(Self { names: variables.iter().map(|variable| variable.name.as_str()).collect(), by_name })
    }

    /// Returns the names of the variables that have a value where a Cluster gives none.
    fn with_default(&self) -> impl Iterator<Item = &'a str> {
        let has_default = |name: &&str| {
            self.by_name.get(name).is_some_and(|definition| definition.schema.default.is_some())
        };
        self.names.iter().copied().filter(has_default)
    }

    fn compiled(&self, name: &str) -> Option<Result<&Compiled, &str>> {
        let definition = self.by_name.get(name)?;
        let compiled = definition.compiled.get_or_init(|| Compiled::of(definition.schema));
        Some(compiled.as_ref().map_err(String::as_str))
    }
}

/// Returns the values with defaults: first those that are set, in their order, then those of the class. This order is stable, so
/// that a Cluster with defaults stays as it is.
///
/// # Errors
/// Values without a definition, names that are set twice, broken schemas, and defaults with more bytes than are `left`.
pub(super) fn defaulted(
    values: &[ClusterVariable],
    definitions: &Definitions<'_>,
    scope: Scope,
    field: &str,
    left: &mut usize,
) -> Result<Vec<ClusterVariable>, Vec<FieldError>> {
    let set = by_name(values, field)?;
    let mut errors = Vec::new();
    let mut defaulted = Vec::with_capacity(values.len());
    for variable in values {
        match definitions.compiled(&variable.name) {
            None => add(&mut errors, undefined(field, variable)),
            Some(Err(why)) => add(&mut errors, broken(field, &variable.name, why)),
            Some(Ok(compiled)) => {
                let mut variable = variable.clone();
                if !compiled.default(&mut variable.value, left) {
                    return Err(vec![too_many_defaults(field, &variable.name)]);
                }
                defaulted.push(variable);
            }
        }
    }
    let missing = definitions.with_default().filter(|name| !set.contains_key(name));
    for name in missing.filter(|_| scope == Scope::Cluster) {
        match definitions.compiled(name) {
            Some(Ok(compiled)) => {
                let mut value = Value::Null;
                if !compiled.default(&mut value, left) {
                    return Err(vec![too_many_defaults(field, name)]);
                }
                defaulted.push(ClusterVariable { name: name.to_owned(), value });
            }
            Some(Err(why)) => add(&mut errors, broken(field, name, why)),
            None => {}
        }
    }
    if errors.is_empty() { Ok(defaulted) } else { Err(errors) }
}

/// Checks the values of a list. `old` is the list before an update.
pub(super) fn check(
    values: &[ClusterVariable],
    old: &[ClusterVariable],
    definitions: &Definitions<'_>,
    scope: Scope,
    field: &str,
) -> Vec<FieldError> {
    let set = match by_name(values, field) {
        Ok(set) => set,
        Err(errors) => return errors,
    };
    // What is stored was checked; of a name that is there twice, any value serves.
    let old: BTreeMap<&str, &Value> =
        old.iter().map(|variable| (variable.name.as_str(), &variable.value)).collect();
    let mut errors = Vec::new();
    if scope == Scope::Cluster {
        let required = definitions.by_name.iter().filter(|(_, definition)| definition.required);
        for (name, _) in required.filter(|(name, _)| !set.contains_key(**name)) {
            let detail = format!("the variable {name:?} must be set");
            add(&mut errors, FieldError::bare(FieldErrorKind::Required, field, detail));
        }
    }
    for variable in values {
        let place = format!("{field}[{}]", variable.name);
        match definitions.compiled(&variable.name) {
            None => add(&mut errors, undefined(field, variable)),
            Some(Err(why)) => add(&mut errors, broken(field, &variable.name, why)),
            Some(Ok(compiled)) => {
                let old = old.get(variable.name.as_str()).copied().filter(|old| !old.is_null());
                let found = compiled.check(&variable.name, &place, &variable.value, old);
                found.into_iter().for_each(|error| add(&mut errors, error));
            }
        }
        if errors.len() >= MAX_FIELD_ERRORS {
            break;
        }
    }
    errors
}

fn by_name<'v>(
    values: &'v [ClusterVariable],
    field: &str,
) -> Result<BTreeMap<&'v str, &'v Value>, Vec<FieldError>> {
    let mut errors = Vec::new();
    let mut found = BTreeMap::new();
    for variable in values {
        let name = variable.name.as_str();
        if found.insert(name, &variable.value).is_some() {
            let detail = format!("the variable {name:?} is set more than once");
            add(&mut errors, invalid(&format!("{field}[{name}]"), &variable.value, detail));
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn undefined(field: &str, variable: &ClusterVariable) -> FieldError {
    let place = format!("{field}[{}]", variable.name);
    invalid(&place, &variable.value, "the class does not define this variable")
}

fn broken(field: &str, name: &str, why: &str) -> FieldError {
    let detail = format!("the schema of the variable {name:?} in the class {why}");
    FieldError::bare(FieldErrorKind::InternalError, format!("{field}[{name}]"), detail)
}

fn too_many_defaults(field: &str, name: &str) -> FieldError {
    let detail =
        format!("the defaults of the class would make the variables larger than {MAX_DEFAULTS_SIZE} bytes");
    FieldError::bare(FieldErrorKind::Invalid, format!("{field}[{name}]"), detail)
}

fn invalid(field: &str, value: &Value, detail: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, &shown(value).into(), detail)
}

/// Adds an error, unless there are too many already.
fn add(errors: &mut Vec<FieldError>, error: FieldError) {
    if errors.len() < MAX_FIELD_ERRORS {
        errors.push(error);
    }
}
