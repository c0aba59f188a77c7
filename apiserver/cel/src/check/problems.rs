//! The check of a rule when its CustomResourceDefinition is written.

use machinery::schema::field_path::find;
use machinery::schema::{Rule, Schema};

use super::checker::Checker;
use super::literals;
use crate::cost::{self, Types};
use crate::types::{Type, simple};

/// An error of a rule, found when its CustomResourceDefinition is written.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleProblem {
    /// An error in `rule`.
    Rule(String),
    /// An error in `messageExpression`.
    MessageExpression(String),
    /// `fieldPath` does not name a field of the schema.
    FieldPath,
    /// `optionalOldSelf` is set, but the rule does not use `oldSelf`.
    OptionalOldSelf,
}

/// The maximum cost of a rule, in cel-go's units, for one evaluation on one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleCost {
    /// The cost of `rule`.
    pub rule: u64,
    /// The cost of `messageExpression`, or `None` without one.
    pub message: Option<u64>,
    /// Whether the rule compiles and uses `oldSelf`.
    pub uses_old_self: bool,
}

/// Returns all errors of a rule on this schema node, and its maximum cost. `root` is true for rules on the whole
/// object.
pub fn problems(schema: &Schema, rule: &Rule, root: bool) -> (Vec<RuleProblem>, RuleCost) {
    let mut problems = Vec::new();
    let mut costs = RuleCost::default();
    let mut checker = Checker {
        own: Some(Type::of(schema, root).unwrap_or(Type::Dyn)),
        optional: rule.optional_old_self,
        patches: false,
        problems: Vec::new(),
        failures: 0,
        types: Types::new(),
    };
    match checker.run(&rule.rule) {
        Err(text) => problems.push(RuleProblem::Rule(format!("compilation failed: {text}"))),
        Ok((_, found)) if found != simple("bool") => {
            problems.push(RuleProblem::Rule("cel expression must evaluate to a bool".into()));
        }
        Ok((expr, _)) => {
            costs.uses_old_self = expr.uses("oldSelf");
            match literals::instantiate(&expr) {
                Err(why) => problems.push(RuleProblem::Rule(format!("program instantiation failed: {why}"))),
                Ok(()) => costs.rule = cost::estimate(&expr, &checker.types, schema, root),
            }
        }
    }
    // A rule that does not compile counts as one that does not use `oldSelf`.
    if rule.optional_old_self && !costs.uses_old_self {
        problems.push(RuleProblem::OptionalOldSelf);
    }
    if let Some(source) = &rule.message_expression {
        match checker.run(source) {
            Err(text) => {
                problems.push(RuleProblem::MessageExpression(format!(
                    "messageExpression compilation failed: {text}"
                )));
            }
            Ok((_, found)) if found != simple("string") => {
                let text = "messageExpression must evaluate to a string".to_owned();
                problems.push(RuleProblem::MessageExpression(text));
            }
            Ok((expr, _)) => match literals::instantiate(&expr) {
                Err(why) => {
                    let text = format!("messageExpression instantiation failed: {why}");
                    problems.push(RuleProblem::MessageExpression(text));
                }
                Ok(()) => costs.message = Some(cost::estimate(&expr, &checker.types, schema, root)),
            },
        }
    }
    if rule.field_path.as_deref().is_some_and(|path| find(schema, path, true).is_err()) {
        problems.push(RuleProblem::FieldPath);
    }
    (problems, costs)
}
