//! The walk over an object that evaluates the rules of its schema.

use std::cell::Cell;
use std::sync::Arc;

use machinery::allowance::{self, Left};
use machinery::field::FieldError;
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::schema::{self, OldItems, Rule, Schema};
use serde_json::Value;

use super::report::{invalid_type, violation};
use super::tree::Rules;
use crate::check::Compiled;
use crate::eval::{self, Scope};
use crate::limits::{MAX_CEL_OBJECT_COST, MIN_CEL_EVALUATION_COST};
use crate::values::{CANCELLED, OUT_OF_BUDGET, Val};

thread_local! {
    static EVALUATIONS: Cell<u64> = const { Cell::new(0) };
    static SPENT: Cell<u64> = const { Cell::new(0) };
    /// What the rules of limited work may still cost, or `None` outside of it.
    static LEFT: Left = const { Cell::new(None) };
}

/// Runs `work` with the limit [`MAX_CEL_OBJECT_COST`] for all rules that it evaluates, as if they were those of one object.
/// Beyond the limit, values with rules are errors. Inside of work that is limited, the limit is the same one.
pub fn limited<T>(work: impl FnOnce() -> T) -> T {
    allowance::limited(&LEFT, MAX_CEL_OBJECT_COST, work)
}

/// Returns the cost of all rules that this thread has evaluated, in cel-go's units.
pub fn spent() -> u64 {
    SPENT.get()
}

/// Returns the number of rules that this thread has evaluated. Tests use it to show which rules are skipped.
pub fn evaluations() -> u64 {
    EVALUATIONS.get()
}

/// Facts about an update that make the evaluation of some rules unnecessary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// Whether only `status` differs. Rules that do not read `status` are then skipped.
    pub status_only: bool,
    /// Whether the old object satisfies all rules. Rules whose values are unchanged are then skipped.
    pub old_holds: bool,
}

impl Rules {
    /// Evaluates the rules of the schema and of all nodes below it. `old` is the object before an update. Rules over
    /// unchanged values are skipped, except transition rules, because their failure is only a warning
    /// ([`Rules::ratcheted`] finds them). All rules together may cost [`MAX_CEL_OBJECT_COST`].
    pub fn validate(
        &self,
        schema: &Schema,
        new: &Value,
        old: Option<&Value>,
        known: Known,
    ) -> Vec<FieldError> {
        self.walk(schema, new, old, Walk { known, ..Walk::default() })
    }

    /// Returns the violations in values that an update left unchanged. The server reports them as warnings.
    pub fn ratcheted(&self, schema: &Schema, new: &Value, old: &Value) -> Vec<FieldError> {
        self.walk(schema, new, Some(old), Walk { unchanged: true, ..Walk::default() })
    }

    fn walk(&self, schema: &Schema, new: &Value, old: Option<&Value>, mut walk: Walk) -> Vec<FieldError> {
        if schema.has_rules {
            walk.node(schema, self, new, old, &mut String::new());
        }
        walk.found
    }
}

/// Maximum length of the result of `messageExpression`, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

struct Walk {
    found: Vec<FieldError>,
    /// Whether to evaluate the rules over unchanged values or those over changed values.
    unchanged: bool,
    known: Known,
    /// The remaining cost budget, or `None` once it is exceeded and no further rule runs.
    budget: Option<u64>,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            unchanged: false,
            known: Known::default(),
            budget: Some(LEFT.get().unwrap_or(MAX_CEL_OBJECT_COST)),
        }
    }
}

impl Walk {
    fn node(&mut self, schema: &Schema, rules: &Rules, new: &Value, old: Option<&Value>, path: &mut String) {
        if new.is_null() || self.budget.is_none() {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(schema, rules, &Subject { new, old, path });
        }
        let length = path.len();
        match new {
            Value::Array(list) => {
                let (Some(items), Some(rules)) = (schema.items.as_deref(), rules.items()) else {
                    return;
                };
                let old = OldItems::new(schema, old.and_then(Value::as_array));
                for (i, item) in list.iter().enumerate() {
                    path.push_str(&format!("[{i}]"));
                    self.node(items, rules, item, old.of(item), path);
                    path.truncate(length);
                }
            }
            Value::Object(map) => {
                for (name, rules) in rules.properties() {
                    let Some(value) = map.get(name) else { continue };
                    if length == 0 && self.known.status_only && name != "status" {
                        continue;
                    }
                    let Some(property) = schema.properties.get(name) else { continue };
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(name);
                    self.node(property, rules, value, old.and_then(|old| old.get(name)), path);
                    path.truncate(length);
                }
                let additional = (schema.additional_properties.as_deref(), rules.additional());
                let (Some(additional), Some(rules)) = additional else { return };
                for (key, value) in map.iter().filter(|(key, _)| !schema.properties.contains_key(*key)) {
                    path.push_str(&format!("[{key}]"));
                    self.node(additional, rules, value, old.and_then(|old| old.get(key)), path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, schema: &Schema, rules: &Rules, subject: &Subject<'_>) {
        let Subject { new, old, path } = *subject;
        let programs = rules.programs(schema);
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
                let found = self.run(schema, rule, program, subject);
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
        if self.budget == Some(0) {
            self.budget = None;
            return Some(invalid_type(schema, path, OUT_OF_BUDGET.to_owned()));
        }
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
        let detail = if failure == CANCELLED {
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
        LEFT.set(LEFT.get().map(|left| left.saturating_sub(cost)));
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
            Err(failure) if failure == CANCELLED => {
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
