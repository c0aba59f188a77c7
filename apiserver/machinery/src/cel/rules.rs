//! Rules on an object: which run, on what, and what is reported.

use std::sync::OnceLock;

use serde_json::Value;

use super::check::{Compiled, compile};
use super::eval::{self, Scope};
use super::value::Val;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::{self, Kind, Rule, Schema, correlate_item};

/// The compiled rules of one schema node, in the order of its rules; compiled when first used.
/// Equality and cloning ignore them: they derive from the rules.
#[derive(Debug, Default)]
pub struct Programs(OnceLock<Vec<Result<Compiled, String>>>);

impl Clone for Programs {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Programs {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Evaluates the rules of the schema and everything below it; `old` is the object before an update.
/// Rules over unchanged values are skipped, transition rules excepted: their failure is a warning at most
/// ([`ratcheted`] finds those).
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut walk = Walk { found: Vec::new(), unchanged: false };
    walk.node(schema, new, old, &mut String::new());
    walk.found
}

/// Violations that an update did not cause, because the values are as they were: the server warns of them.
pub fn ratcheted(schema: &Schema, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut walk = Walk { found: Vec::new(), unchanged: true };
    walk.node(schema, new, Some(old), &mut String::new());
    walk.found
}

struct Walk {
    found: Vec<FieldError>,
    /// Whether the rules over unchanged values are wanted, or the others.
    unchanged: bool,
}

impl Walk {
    fn node(&mut self, schema: &Schema, new: &Value, old: Option<&Value>, path: &mut String) {
        if !schema.has_rules || new.is_null() {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(schema, new, old, path);
        }
        let length = path.len();
        match new {
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref().filter(|items| items.has_rules) else { return };
                let old = old.and_then(Value::as_array);
                for (i, item) in list.iter().enumerate() {
                    path.push_str(&format!("[{i}]"));
                    self.node(items, item, correlate_item(schema, old, item), path);
                    path.truncate(length);
                }
            }
            Value::Object(map) => {
                for (name, property) in schema.properties.iter().filter(|(_, property)| property.has_rules) {
                    let Some(value) = map.get(name) else { continue };
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(name);
                    self.node(property, value, old.and_then(|old| old.get(name)), path);
                    path.truncate(length);
                }
                let additional = schema.additional_properties.as_deref().filter(|schema| schema.has_rules);
                let Some(additional) = additional else { return };
                for (key, value) in map.iter().filter(|(key, _)| !schema.properties.contains_key(*key)) {
                    path.push_str(&format!("[{key}]"));
                    self.node(additional, value, old.and_then(|old| old.get(key)), path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, schema: &Schema, new: &Value, old: Option<&Value>, path: &str) {
        let programs =
            schema.programs.0.get_or_init(|| schema.rules.iter().map(|rule| compile(schema, rule)).collect());
        let mut unchanged = None;
        for (rule, program) in schema.rules.iter().zip(programs) {
            let program = match program {
                Ok(program) => program,
                Err(why) => {
                    let detail = format!("rule compile error: {why}");
                    self.found.extend((!self.unchanged).then(|| invalid_type(schema, path, detail)));
                    continue;
                }
            };
            if program.uses_old_self && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let ratchets = !program.uses_old_self
                && *unchanged
                    .get_or_insert_with(|| old.is_some_and(|old| schema::unchanged(schema, old, new)));
            if ratchets == self.unchanged {
                self.found.extend(run(schema, rule, program, new, old, path));
            }
        }
    }
}

fn run(
    schema: &Schema,
    rule: &Rule,
    program: &Compiled,
    new: &Value,
    old: Option<&Value>,
    path: &str,
) -> Option<FieldError> {
    let before = old.map(|old| Val::of(old, Some(schema)));
    let old_self = match (rule.optional_old_self, before) {
        (true, before) => Val::Optional(before.map(Into::into)),
        (false, Some(before)) => before,
        (false, None) => Val::Null,
    };
    let own = Val::of(new, Some(schema));
    let outer = Scope::new("oldSelf", old_self, None);
    let scope = Scope::new("self", own, Some(&outer));
    let short = || rule.message.as_deref().unwrap_or(&rule.rule).trim();
    match eval::evaluate(&program.expr, &scope) {
        Ok(Val::Bool(true)) => None,
        Ok(_) => {
            let message = program.message.as_ref().and_then(|expr| message(expr, &scope));
            let detail = message.unwrap_or_else(|| match &rule.message {
                Some(message) => message.trim().to_owned(),
                None => format!("failed rule: {}", rule.rule.trim()),
            });
            Some(violation(schema, rule, program, new, path, detail))
        }
        Err(failure) if failure.starts_with("no such overload") => {
            let detail = format!(
                "'{failure}': call arguments did not match a supported operator, function or macro signature \
                 for rule: {}",
                short()
            );
            Some(invalid_type(schema, path, detail))
        }
        Err(failure) => Some(invalid_type(schema, path, format!("{failure} evaluating rule: {}", short()))),
    }
}

/// Longest message that an expression may make, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

fn message(expr: &super::ast::Expr, scope: &Scope<'_, '_>) -> Option<String> {
    match eval::evaluate(expr, scope) {
        Ok(Val::Text(text)) => {
            let text = text.trim().to_owned();
            (!text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE).then_some(text)
        }
        _ => None,
    }
}

fn violation(
    schema: &Schema,
    rule: &Rule,
    program: &Compiled,
    new: &Value,
    path: &str,
    detail: String,
) -> FieldError {
    let kind = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
        Some("FieldValueRequired") => FieldErrorKind::Required,
        Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
        _ => FieldErrorKind::Invalid,
    };
    let field = match (&program.field_path, path) {
        (Some(field), "") => field.clone(),
        (Some(field), path) => format!("{path}.{field}"),
        (None, path) => path.to_owned(),
    };
    // Objects and lists are not shown; they can be large.
    let composite = matches!(schema.kind, Some(Kind::Object | Kind::Array));
    let valued = matches!(kind, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
    match (valued, kind) {
        (false, _) => FieldError::bare(kind, field, detail),
        // `Duplicate value` has no place for a message.
        (true, FieldErrorKind::Duplicate) if composite => FieldError::bare(kind, field, ""),
        (true, FieldErrorKind::Duplicate) => FieldError::new(kind, field, new, ""),
        _ if composite => FieldError::bare(kind, field, detail),
        _ => FieldError::new(kind, field, new, detail),
    }
}

/// An error that shows the type in place of the value.
fn invalid_type(schema: &Schema, path: &str, detail: String) -> FieldError {
    let kind = match schema.kind {
        Some(Kind::Object) => "object",
        Some(Kind::Array) => "array",
        Some(Kind::String) => "string",
        Some(Kind::Integer) => "integer",
        Some(Kind::Number) => "number",
        Some(Kind::Boolean) => "boolean",
        None => "",
    };
    FieldError::new(FieldErrorKind::Invalid, path, &kind.into(), detail)
}
