//! Evaluation of the validation rules of a schema on an object.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::check::{Compiled, compile};
use super::eval::{self, Scope};
use super::value::Val;
use crate::field::{FieldError, FieldErrorKind};
use crate::limits::{MAX_CEL_OBJECT_COST, MAX_FIELD_ERRORS, MIN_CEL_EVALUATION_COST};
use crate::schema::{self, Kind, OldItems, Rule, Schema};

/// The compiled rules of one schema node, in the order of its rules. They are compiled at their first use. Equality and
/// cloning ignore them, because they derive from the rules.
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

/// Facts about an update that make the evaluation of some rules unnecessary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// Whether only `status` differs. Rules that do not read `status` are then skipped.
    pub status_only: bool,
    /// Whether the old object satisfies all rules. Rules whose values are unchanged are then skipped.
    pub old_holds: bool,
}

thread_local! {
    static EVALUATIONS: Cell<u64> = const { Cell::new(0) };
    static SPENT: Cell<u64> = const { Cell::new(0) };
}

/// Returns the cost of all rules that this thread has evaluated, in cel-go's units.
pub fn spent() -> u64 {
    SPENT.get()
}

/// Returns the number of rules that this thread has evaluated. Tests use it to show which rules are skipped.
pub fn evaluations() -> u64 {
    EVALUATIONS.get()
}

/// Evaluates the rules of the schema and of all nodes below it. `old` is the object before an update. Rules over
/// unchanged values are skipped, except transition rules, because their failure is only a warning ([`ratcheted`] finds
/// them). All rules together may cost [`MAX_CEL_OBJECT_COST`].
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>, known: Known) -> Vec<FieldError> {
    let mut walk = Walk { found: Vec::new(), unchanged: false, known, budget: Some(MAX_CEL_OBJECT_COST) };
    walk.node(schema, new, old, &mut String::new());
    walk.found
}

/// Returns the violations in values that an update left unchanged. The server reports them as warnings.
pub fn ratcheted(schema: &Schema, new: &Value, old: &Value) -> Vec<FieldError> {
    let known = Known::default();
    let mut walk = Walk { found: Vec::new(), unchanged: true, known, budget: Some(MAX_CEL_OBJECT_COST) };
    walk.node(schema, new, Some(old), &mut String::new());
    walk.found
}

struct Walk {
    found: Vec<FieldError>,
    /// Whether to evaluate the rules over unchanged values or those over changed values.
    unchanged: bool,
    known: Known,
    /// The remaining cost budget, or `None` once it is exceeded and no further rule runs.
    budget: Option<u64>,
}

impl Walk {
    fn node(&mut self, schema: &Schema, new: &Value, old: Option<&Value>, path: &mut String) {
        if !schema.has_rules || new.is_null() || self.budget.is_none() {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(schema, new, old, path);
        }
        let length = path.len();
        match new {
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref().filter(|items| items.has_rules) else { return };
                let old = OldItems::new(schema, old.and_then(Value::as_array));
                for (i, item) in list.iter().enumerate() {
                    path.push_str(&format!("[{i}]"));
                    self.node(items, item, old.of(item), path);
                    path.truncate(length);
                }
            }
            Value::Object(map) => {
                for (name, property) in schema.properties.iter().filter(|(_, property)| property.has_rules) {
                    let Some(value) = map.get(name) else { continue };
                    if length == 0 && self.known.status_only && name != "status" {
                        continue;
                    }
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
            if self.is_settled(program, new, old, path) {
                continue;
            }
            let ratchets = !program.uses_old_self
                && *unchanged
                    .get_or_insert_with(|| old.is_some_and(|old| schema::unchanged(schema, old, new)));
            if ratchets == self.unchanged {
                let found = self.run(schema, rule, program, &Subject { new, old, path });
                self.found.extend(found);
            }
            if self.found.len() >= MAX_FIELD_ERRORS {
                self.budget = None;
            }
            if self.budget.is_none() {
                return;
            }
        }
    }

    /// Returns whether the rule needs no evaluation, because nothing that it reads has changed.
    fn is_settled(&self, program: &Compiled, new: &Value, old: Option<&Value>, path: &str) -> bool {
        if path.is_empty() && self.known.status_only && !program.reads("status") {
            return true;
        }
        let (Some(old), Some(read)) = (old, &program.reads) else { return false };
        let same = |name: &Arc<str>| old.get(&**name) == new.get(&**name);
        self.known.old_holds && !program.uses_old_self && read.iter().all(same)
    }

    fn run(
        &mut self,
        schema: &Schema,
        rule: &Rule,
        program: &Compiled,
        subject: &Subject<'_>,
    ) -> Option<FieldError> {
        let Subject { new, old, path } = *subject;
        let before = old.map(|old| Val::of(old, Some(schema)));
        let old_self = match (rule.optional_old_self, before) {
            (true, before) => Val::Optional(before.map(Into::into)),
            (false, Some(before)) => before,
            (false, None) => Val::Null,
        };
        let outer = Scope::new("oldSelf", old_self, None);
        let scope = Scope::new("self", Val::of(new, Some(schema)), Some(&outer));
        EVALUATIONS.set(EVALUATIONS.get() + 1);
        let (outcome, cost) = eval::evaluate(&program.expr, &scope);
        let short = rule.message.as_deref().unwrap_or(&rule.rule).trim();
        if !self.pay(cost) {
            return Some(invalid_type(schema, path, OUT_OF_BUDGET.to_owned()));
        }
        let failure = match outcome {
            Ok(Val::Bool(true)) => return None,
            Ok(_) => {
                return Some(match self.message(program, &scope) {
                    Ok(message) => {
                        let detail = message.unwrap_or_else(|| match &rule.message {
                            Some(message) => message.trim().to_owned(),
                            None => format!("failed rule: {}", rule.rule.trim()),
                        });
                        violation(schema, rule, program, new, path, detail)
                    }
                    Err(why) => invalid_type(schema, path, why),
                });
            }
            Err(failure) => failure,
        };
        let detail = if failure == eval::CANCELLED {
            self.budget = None;
            format!(
                "'{failure}': no further validation rules will be run due to call cost exceeds limit for rule: \
                 {short}"
            )
        } else if failure.starts_with("no such overload") {
            format!(
                "'{failure}': call arguments did not match a supported operator, function or macro signature \
                 for rule: {short}"
            )
        } else {
            format!("{failure} evaluating rule: {short}")
        };
        Some(invalid_type(schema, path, detail))
    }

    /// Subtracts `cost` from the budget. Returns false if the budget is exceeded, and no further rule runs then.
    fn pay(&mut self, cost: u64) -> bool {
        SPENT.set(SPENT.get().saturating_add(cost));
        let cost = cost.max(MIN_CEL_EVALUATION_COST);
        self.budget = self.budget.and_then(|budget| budget.checked_sub(cost));
        self.budget.is_some()
    }

    /// Evaluates the rule's `messageExpression`. Returns `None` if it fails or does not return a usable message.
    ///
    /// # Errors
    /// The message for an evaluation that is too expensive.
    fn message(&mut self, program: &Compiled, scope: &Scope<'_, '_>) -> Result<Option<String>, String> {
        let Some(expr) = &program.message else { return Ok(None) };
        let (outcome, cost) = eval::evaluate(expr, scope);
        if !self.pay(cost) {
            return Err(OUT_OF_BUDGET.to_owned());
        }
        match outcome {
            Ok(Val::Text(text)) => {
                let text = text.trim().to_owned();
                Ok((!text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE).then_some(text))
            }
            Err(failure) if failure == eval::CANCELLED => {
                self.budget = None;
                Err("no further validation rules will be run due to call cost exceeds limit for messageExpression"
                    .to_owned())
            }
            _ => Ok(None),
        }
    }
}

/// The value that a rule validates, with its old value and its path.
struct Subject<'v> {
    new: &'v Value,
    old: Option<&'v Value>,
    path: &'v str,
}

pub(super) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Maximum length of the result of `messageExpression`, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

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
    // Errors do not show objects and lists, which can be large.
    let composite = matches!(schema.kind, Some(Kind::Object | Kind::Array));
    let valued = matches!(kind, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
    match (valued, kind) {
        (false, _) => FieldError::bare(kind, field, detail),
        // The error `Duplicate value` has no place for a message.
        (true, FieldErrorKind::Duplicate) if composite => FieldError::bare(kind, field, ""),
        (true, FieldErrorKind::Duplicate) => FieldError::new(kind, field, new, ""),
        _ if composite => FieldError::bare(kind, field, detail),
        _ => FieldError::new(kind, field, new, detail),
    }
}

/// Returns an error that shows the type instead of the value.
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
