//! Parsing of `openAPIV3Schema` to [`Schema`].

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::{Kind, ListType, Rule, Schema, Validation, formats, sizes};
use crate::limits::MAX_SCHEMA_DEPTH;

/// The reason why a schema cannot be parsed, and its place.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SchemaError {
    /// The place inside the schema, for example `properties.[spec].items`; empty for the root.
    pub path: String,
    /// The message for this place.
    pub problem: String,
}

impl Schema {
    /// Reads `openAPIV3Schema`. Keywords that the API does not know are ignored: strict decoding and
    /// the validation of CustomResourceDefinitions report them.
    ///
    /// # Errors
    /// When a keyword has a value of the wrong JSON type, or the nesting is deeper than [`MAX_SCHEMA_DEPTH`].
    pub fn parse(source: &Value) -> Result<Schema, SchemaError> {
        node(source, 0).map_err(Problem::finish)
    }

    /// Returns the schema of the field `name` of an object: its property, or `additionalProperties`.
    #[inline]
    pub fn child(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).map(Box::as_ref).or(self.additional_properties.as_deref())
    }
}

/// An error whose path is collected on the way up, innermost segment first.
struct Problem {
    segments: Vec<String>,
    what: String,
}

impl Problem {
    fn new(what: impl Into<String>) -> Self {
        Self { segments: Vec::new(), what: what.into() }
    }

    fn under(mut self, segment: impl Into<String>) -> Self {
        self.segments.push(segment.into());
        self
    }

    fn finish(mut self) -> SchemaError {
        self.segments.reverse();
        SchemaError { path: self.segments.join("."), problem: self.what }
    }
}

fn node(source: &Value, depth: usize) -> Result<Schema, Problem> {
    if depth > MAX_SCHEMA_DEPTH {
        return Err(Problem::new(format!("nested deeper than {MAX_SCHEMA_DEPTH} levels")));
    }
    let Some(map) = source.as_object() else { return Err(Problem::new("a schema must be an object")) };
    let mut schema = Schema::default();
    for (key, value) in map {
        // Go treats null as absent. As the default of a nullable field, null means that a built-in kind always encodes
        // the field; decoding drops such a default from a CustomResourceDefinition.
        if !value.is_null() || key == "default" && map.get("nullable") == Some(&Value::Bool(true)) {
            keyword(&mut schema, key, value, depth).map_err(|problem| problem.under(key))?;
        }
    }
    let kind = schema.kind.filter(|_| !schema.int_or_string);
    let format = schema.validation.format.as_deref();
    schema.validation.known_format = format.is_some_and(|format| formats::is_known(kind, format));
    summarise(&mut schema);
    Ok(schema)
}

/// Computes the fields of a node that summarize all nodes below it, so that walks can skip subtrees.
pub fn summarise(schema: &mut Schema) {
    let mut has_rules = !schema.rules.is_empty();
    let mut has_defaults = schema.default.is_some();
    let mut has_lists = matches!(schema.list_type, Some(ListType::Set | ListType::Map));
    let mut has_embedded = schema.embedded_resource;
    let below = schema
        .properties
        .values()
        .map(|child| &**child)
        .chain(schema.additional_properties.as_deref())
        .chain(schema.items.as_deref());
    for child in below {
        has_rules |= child.has_rules;
        has_defaults |= child.has_defaults;
        has_lists |= child.has_lists;
        has_embedded |= child.has_embedded;
    }
    schema.declared = sizes::declare(schema);
    schema.structure = structure(schema);
    schema.has_rules = has_rules;
    schema.has_defaults = has_defaults;
    schema.has_lists = has_lists;
    schema.has_embedded = has_embedded;
}

/// Returns a hash over the keywords that determine a value's type. Nodes with different hashes have different types, so
/// a comparison needs no walk.
fn structure(schema: &Schema) -> u64 {
    let mut hasher = DefaultHasher::new();
    let kind = schema.kind.map(|kind| kind as u8);
    let flags = (schema.int_or_string, schema.embedded_resource, &schema.validation.format);
    (kind, flags).hash(&mut hasher);
    for (name, child) in &schema.properties {
        (name, child.structure).hash(&mut hasher);
    }
    let below = [&schema.items, &schema.additional_properties];
    below.map(|child| child.as_ref().map(|child| child.structure)).hash(&mut hasher);
    hasher.finish()
}

fn keyword(schema: &mut Schema, key: &str, value: &Value, depth: usize) -> Result<(), Problem> {
    match key {
        "type" => schema.kind = kind(value)?,
        "nullable" => schema.nullable = flag(value)?,
        "properties" => schema.properties = properties(value, depth)?,
        "items" => schema.items = Some(boxed(value, depth)?),
        "additionalProperties" => {
            schema.additional_properties = match value {
                Value::Bool(true) => Some(Box::default()),
                Value::Bool(false) => None,
                value => Some(boxed(value, depth)?),
            }
        }
        "default" => schema.default = Some(value.clone()),
        "x-kubernetes-int-or-string" => schema.int_or_string = flag(value)?,
        "x-kubernetes-preserve-unknown-fields" => schema.preserve_unknown_fields = flag(value)?,
        "x-kubernetes-embedded-resource" => schema.embedded_resource = flag(value)?,
        "x-kubernetes-list-type" => schema.list_type = list_type(value)?,
        "x-kubernetes-list-map-keys" => schema.list_map_keys = strings(value)?,
        "x-kubernetes-map-type" => schema.atomic_map = text(value)?.is_some_and(|kind| kind == "atomic"),
        "x-kubernetes-patch-merge-key" => schema.patch_merge_key = text(value)?,
        "x-kubernetes-patch-strategy" => schema.patch_strategy = text(value)?,
        "x-kubernetes-validations" => schema.rules = rules(value)?,
        key => restriction(&mut schema.validation, key, value, depth)?,
    }
    Ok(())
}

fn restriction(rules: &mut Validation, key: &str, value: &Value, depth: usize) -> Result<(), Problem> {
    match key {
        "required" => rules.required = strings(value)?,
        "enum" => {
            rules.allowed = Some(value.as_array().cloned().ok_or_else(|| Problem::new("must be a list"))?)
        }
        "format" => rules.format = text(value)?,
        "pattern" => rules.pattern = text(value)?,
        "minLength" => rules.min_length = Some(count(value)?),
        "maxLength" => rules.max_length = Some(count(value)?),
        "minItems" => rules.min_items = Some(count(value)?),
        "maxItems" => rules.max_items = Some(count(value)?),
        "uniqueItems" => rules.unique_items = flag(value)?,
        "minProperties" => rules.min_properties = Some(count(value)?),
        "maxProperties" => rules.max_properties = Some(count(value)?),
        "minimum" => rules.minimum = Some(number(value)?),
        "exclusiveMinimum" => rules.exclusive_minimum = flag(value)?,
        "maximum" => rules.maximum = Some(number(value)?),
        "exclusiveMaximum" => rules.exclusive_maximum = flag(value)?,
        "multipleOf" => rules.multiple_of = Some(number(value)?),
        "allOf" => rules.all_of = list(value, depth)?,
        "anyOf" => rules.any_of = list(value, depth)?,
        "oneOf" => rules.one_of = list(value, depth)?,
        "not" => rules.not = Some(boxed(value, depth)?),
        _ => {}
    }
    Ok(())
}

fn flag(value: &Value) -> Result<bool, Problem> {
    value.as_bool().ok_or_else(|| Problem::new("must be a boolean"))
}

/// Parses a string. The empty string counts as absent, as in Go.
fn text(value: &Value) -> Result<Option<String>, Problem> {
    let text = value.as_str().ok_or_else(|| Problem::new("must be a string"))?;
    Ok(Some(text).filter(|text| !text.is_empty()).map(str::to_owned))
}

fn number(value: &Value) -> Result<f64, Problem> {
    value.as_f64().ok_or_else(|| Problem::new("must be a number"))
}

/// Parses a limit. A negative limit is valid and has the effect of 0.
fn count(value: &Value) -> Result<u64, Problem> {
    let float = || value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64);
    let count = value.as_u64().or_else(|| value.as_i64().map(|_| 0)).or_else(float);
    count.ok_or_else(|| Problem::new("must be an integer"))
}

fn strings(value: &Value) -> Result<Vec<String>, Problem> {
    let list =
        value.as_array().and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    list.ok_or_else(|| Problem::new("must be a list of strings"))
}

fn kind(value: &Value) -> Result<Option<Kind>, Problem> {
    let Some(text) = text(value)? else { return Ok(None) };
    Ok(Some(match text.as_str() {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        other => return Err(Problem::new(format!("{other:?} is not a type"))),
    }))
}

fn list_type(value: &Value) -> Result<Option<ListType>, Problem> {
    let Some(text) = text(value)? else { return Ok(None) };
    Ok(Some(match text.as_str() {
        "atomic" => ListType::Atomic,
        "set" => ListType::Set,
        "map" => ListType::Map,
        other => return Err(Problem::new(format!("{other:?} is not one of atomic, set, map"))),
    }))
}

fn properties(value: &Value, depth: usize) -> Result<BTreeMap<String, Box<Schema>>, Problem> {
    let map: &Map<String, Value> = value.as_object().ok_or_else(|| Problem::new("must be an object"))?;
    map.iter()
        .map(|(name, child)| match node(child, depth + 1) {
            Ok(schema) => Ok((name.clone(), Box::new(schema))),
            Err(problem) => Err(problem.under(format!("[{name}]"))),
        })
        .collect()
}

fn boxed(value: &Value, depth: usize) -> Result<Box<Schema>, Problem> {
    node(value, depth + 1).map(Box::new)
}

fn list(value: &Value, depth: usize) -> Result<Vec<Schema>, Problem> {
    let list = value.as_array().ok_or_else(|| Problem::new("must be a list"))?;
    let mut schemas = Vec::with_capacity(list.len());
    // A plain loop, because the adapters of an iterator would put further copies of the schema on the stack at each level.
    for (index, child) in list.iter().enumerate() {
        schemas.push(node(child, depth + 1).map_err(|problem| problem.under(format!("[{index}]")))?);
    }
    Ok(schemas)
}

fn rules(value: &Value) -> Result<Vec<Rule>, Problem> {
    let list = value.as_array().ok_or_else(|| Problem::new("must be a list"))?;
    let one = |(i, value)| rule(value).map_err(|problem| problem.under(format!("[{i}]")));
    list.iter().enumerate().map(one).collect()
}

fn rule(value: &Value) -> Result<Rule, Problem> {
    let map = value.as_object().ok_or_else(|| Problem::new("must be an object"))?;
    let mut rule = Rule::default();
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let set = |rule: &mut Rule| {
            match key.as_str() {
                "rule" => rule.rule = text(value)?.unwrap_or_default(),
                "message" => rule.message = text(value)?,
                "messageExpression" => rule.message_expression = text(value)?,
                "reason" => rule.reason = value.as_str().map(str::to_owned),
                "fieldPath" => rule.field_path = text(value)?,
                "optionalOldSelf" => rule.optional_old_self = flag(value)?,
                _ => {}
            }
            Ok(())
        };
        set(&mut rule).map_err(|problem: Problem| problem.under(key))?;
    }
    Ok(rule)
}
