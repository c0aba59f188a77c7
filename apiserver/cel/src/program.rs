//! Expressions outside of schemas, by which admission policies and webhooks match and validate. Their variables have no
//! schema and are typed at evaluation.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;

use crate::check;
use crate::declared::{JSON_PATCH, OBJECT};
use crate::eval::{self, Scope};
use crate::limits::MAX_CEL_OBJECT_COST;
use crate::syntax::ast::Expr;
use crate::types::{Type, simple};
use crate::values::{Authority, Nested, OUT_OF_BUDGET, Outcome, Step, Val};

/// The type that an expression must evaluate to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A boolean, for a decision.
    Boolean,
    /// A string, for a message.
    Text,
    /// A string or null.
    TextOrNull,
    /// An object to be applied (`Object{…}`).
    Configuration,
    /// A list of operations (`[JSONPatch{…}]`).
    Operations,
    /// Any type.
    Any,
}

pub use crate::check::Environment;
pub use crate::values::{Asker, Decider, Resource, Subject};

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Program(Expr);

/// The result of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A boolean.
    Boolean(bool),
    /// A string.
    Text(String),
    /// A value of another type.
    Other,
}

/// Named expressions, evaluated in order. Each can refer to those before it as `variables.NAME`. One that does not compile is an error
/// where it is used.
pub type Named<'p> = &'p [(String, Result<Program, String>)];

impl Program {
    /// Parses and checks an expression in an environment.
    ///
    /// # Errors
    /// The errors in cel-go's format.
    pub fn compile(source: &str, environment: &Environment, expected: Expected) -> Result<Self, String> {
        let (expr, found) =
            check::expression(source, environment).map_err(|text| format!("compilation failed: {text}"))?;
        let (allowed, words) = match expected {
            Expected::Boolean => (vec![simple("bool")], "bool"),
            Expected::Text => (vec![simple("string")], "string"),
            Expected::TextOrNull => {
                (vec![simple("string"), simple("null_type")], "one of [string null_type]")
            }
            Expected::Configuration => (vec![Type::Made(OBJECT.into())], OBJECT),
            Expected::Operations => {
                (vec![Type::List(Rc::new(Type::Made(JSON_PATCH.into())))], "list(JSONPatch)")
            }
            Expected::Any => return Ok(Self(expr)),
        };
        if allowed.contains(&found) {
            return Ok(Self(expr));
        }
        let found = if found == simple("null_type") { "null_type".to_owned() } else { found.to_string() };
        Err(format!("must evaluate to {words} but got {found}"))
    }

    /// Compiles the expression of a variable, and declares the variable as `variables.NAME` for the expressions after
    /// it, also if the expression is wrong.
    ///
    /// # Errors
    /// The errors in cel-go's format.
    pub fn define(name: &str, source: &str, environment: &mut Environment) -> Result<Self, String> {
        let checked = check::expression(source, environment);
        environment.define(name, checked.as_ref().ok().map(|(_, found)| found));
        checked.map(|(expr, _)| Self(expr)).map_err(|text| format!("compilation failed: {text}"))
    }
}

/// The variables that a set of programs is evaluated with.
///
/// All evaluations with one input together, and with those before it that it continues, may cost [`MAX_CEL_OBJECT_COST`].
pub struct Input<'a> {
    variables: Vec<(&'a str, &'a Value)>,
    decider: Option<&'a dyn Decider>,
    spent: Cell<u64>,
}

impl<'a> Input<'a> {
    /// Creates the input for these variables, given as names and values.
    pub fn new(variables: Vec<(&'a str, &'a Value)>) -> Self {
        Self { variables, decider: None, spent: Cell::new(0) }
    }

    /// Adds the variable `authorizer`, which asks `decider`.
    #[must_use]
    pub fn authorizer(mut self, decider: &'a dyn Decider) -> Self {
        self.decider = Some(decider);
        self
    }

    /// Counts what has been spent before on the same cost limit.
    #[must_use]
    pub fn continuing(self, spent: u64) -> Self {
        self.spent.set(spent);
        self
    }

    /// Returns the cost of all evaluations so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Evaluates each program with the same named expressions. The error of a failed program is cel-go's message.
    pub fn evaluate(&self, named: Named<'_>, programs: &[&Program]) -> Vec<Result<Answer, String>> {
        let parts = self.parts(named);
        programs.iter().map(|program| self.with(&parts, program).map(answer)).collect()
    }

    /// Evaluates named expressions.
    pub(crate) fn parts(&self, named: Named<'_>) -> Vec<(Val<'_>, Val<'_>)> {
        let mut parts: Vec<(Val<'_>, Val<'_>)> = Vec::new();
        for (name, program) in named {
            let failed = |why: String| Val::Failed(Rc::from(format!("composited variable \"{name}\" {why}")));
            let value = match program.as_ref().map(|program| self.with(&parts, program)) {
                Ok(Ok(value)) => value,
                Ok(Err(why)) => failed(format!("fails to evaluate: {why}")),
                Err(why) => failed(format!("fails to compile: {why}")),
            };
            parts.push((Val::Text(Cow::Owned(name.clone())), value));
        }
        parts
    }

    /// Evaluates a program with the values of named expressions.
    pub(crate) fn with<'v>(
        &'v self,
        parts: &[(Val<'v>, Val<'v>)],
        program: &Program,
    ) -> Result<Val<'v>, String> {
        let expr = &program.0;
        // It is above values of any height, and what contains it is not made.
        let variables = Nested::unlimited(Val::highest(parts), parts.to_vec());
        let named = Scope::new("variables", Val::Map(Rc::new(variables)), None);
        if self.spent.get() > MAX_CEL_OBJECT_COST {
            return Err(OUT_OF_BUDGET.to_owned());
        }
        let (outcome, cost) = match self.decider {
            Some(decider) => {
                let authority = Authority { decider, asker: Asker::User, step: Step::Authorizer };
                let authorizer = Scope::new("authorizer", Val::Authority(Rc::new(authority)), Some(&named));
                nest(&self.variables, &authorizer, expr)
            }
            None => nest(&self.variables, &named, expr),
        };
        self.spent.set(self.spent.get().saturating_add(cost));
        outcome.map_err(|failure| failure.to_string())
    }
}

/// Puts each variable in front of the scope and evaluates in the innermost one.
fn nest<'v>(variables: &'v [(&'v str, &'v Value)], scope: &Scope<'_, 'v>, expr: &Expr) -> (Outcome<'v>, u64) {
    match variables.split_first() {
        None => eval::evaluate(expr, scope),
        Some(((name, value), rest)) => nest(rest, &Scope::new(name, Val::of(value, None), Some(scope)), expr),
    }
}

fn answer(value: Val<'_>) -> Answer {
    match value {
        Val::Bool(decision) => Answer::Boolean(decision),
        Val::Text(text) => Answer::Text(text.into_owned()),
        _ => Answer::Other,
    }
}
