//! Checks of an expression after type checking: mixed or invalid literals, format templates, and calls with constant
//! arguments, which cel-go evaluates when it plans the program.

use machinery::{duration, pattern};

use crate::cost::actual::is_folded;
use crate::cost::{Types, key};
use crate::eval::{self, Scope};
use crate::functions::template::{Clause, Refused, fill};
use crate::limits::MAX_CEL_PROBLEMS;
use crate::syntax::ast::{Call, Expr, ExprKind};
use crate::syntax::token::Problem;
use crate::types::Type;
use crate::values::{Val, parse_timestamp};

/// Checks the literals of an expression that type-checks. Returns the first errors and the number of all errors.
pub(super) fn literals(expr: &Expr, types: &Types<'_>) -> (Vec<Problem>, usize) {
    let mut walk = Walk { types, found: Vec::new(), failures: 0 };
    walk.node(expr, false);
    (walk.found, walk.failures)
}

/// Evaluates the calls that have only constant arguments.
///
/// # Errors
/// cel-go's message for the first call that fails.
pub(super) fn instantiate(expr: &Expr) -> Result<(), String> {
    if let ExprKind::Call(call) = &expr.kind
        && call.target.is_none()
        && call.args.len() == 1
        && is_folded(&call.function, &call.args)
    {
        let nothing = Scope::new("", Val::Null, None);
        return eval::evaluate(expr, &nothing).0.map(drop).map_err(|why| why.to_string());
    }
    for part in parts(expr) {
        instantiate(part)?;
    }
    let ExprKind::Call(call) = &expr.kind else { return Ok(()) };
    let pattern = match (&*call.function, &call.args[..]) {
        ("matches", [.., pattern]) => Some(pattern),
        ("find" | "findAll", [pattern, ..]) if call.target.is_some() => Some(pattern),
        _ => None,
    };
    if let Some(Expr { kind: ExprKind::Text(text), .. }) = pattern
        && let Some(why) = pattern::problem(text)
    {
        return Err(format!("error parsing regexp: {why}"));
    }
    Ok(())
}

/// Returns the children of a node in order.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Select(select) => vec![&select.target],
        ExprKind::Call(call) => call.target.iter().chain(&call.args).collect(),
        ExprKind::List(items) => items.iter().map(|(_, item)| item).collect(),
        ExprKind::Map(entries) => entries.iter().flat_map(|(_, key, value)| [key, value]).collect(),
        ExprKind::Macro(call) => [&call.target].into_iter().chain(&call.filter).chain([&call.body]).collect(),
        ExprKind::Create(create) => create.fields.iter().map(|field| &field.value).collect(),
        _ => Vec::new(),
    }
}

struct Walk<'t, 's> {
    types: &'t Types<'s>,
    found: Vec<Problem>,
    failures: usize,
}

impl<'s> Walk<'_, 's> {
    fn kind(&self, expr: &Expr) -> &Type<'s> {
        self.types.get(&key(expr)).unwrap_or(&Type::Dyn)
    }

    /// Returns the type of an item, or of the value of an optional item.
    fn item(&self, expr: &Expr, optional: bool) -> &Type<'s> {
        match self.kind(expr) {
            Type::Optional(inner) if optional => inner,
            other => other,
        }
    }

    fn fail(&mut self, at: usize, message: String) {
        self.failures += 1;
        if self.found.len() < MAX_CEL_PROBLEMS {
            self.found.push(Problem { at, message });
        }
    }

    /// Checks a node. `mixed` is true below a call of `format`, whose list literals may have several types.
    fn node(&mut self, expr: &Expr, mixed: bool) {
        match &expr.kind {
            ExprKind::List(items) if !mixed => {
                let first = items.first().map(|(optional, item)| self.item(item, *optional).clone());
                let Some(first) = first else { return };
                let other =
                    items.iter().find(|(optional, item)| !is_same(&first, self.item(item, *optional)));
                if let Some((optional, item)) = other {
                    let message = mismatch(&first, self.item(item, *optional));
                    self.fail(item.at, message);
                }
            }
            ExprKind::Map(entries) if !mixed => self.entries(entries),
            ExprKind::Call(call) => self.call(expr.at, call),
            _ => {}
        }
        let mixed = mixed || matches!(&expr.kind, ExprKind::Call(call) if &*call.function == "format");
        for part in parts(expr) {
            self.node(part, mixed);
        }
    }

    fn entries(&mut self, entries: &[(bool, Expr, Expr)]) {
        let Some((optional, first_key, first_value)) = entries.first() else { return };
        let (keys, values) = (self.kind(first_key).clone(), self.item(first_value, *optional).clone());
        for (optional, key, value) in entries {
            if !is_same(&keys, self.kind(key)) {
                let message = mismatch(&keys, self.kind(key));
                self.fail(key.at, message);
            }
            if !is_same(&values, self.item(value, *optional)) {
                let message = mismatch(&values, self.item(value, *optional));
                self.fail(value.at, message);
            }
        }
    }

    fn call(&mut self, at: usize, call: &Call) {
        match (&*call.function, &call.target, &call.args[..]) {
            ("matches", _, [first, ..]) => {
                if let ExprKind::Text(text) = &first.kind
                    && pattern::problem(text).is_some()
                {
                    self.fail(first.at, "invalid matches argument".to_owned());
                }
            }
            (name @ ("duration" | "timestamp"), None, [argument]) => {
                let good = match &argument.kind {
                    ExprKind::Text(text) if name == "duration" => duration::parse_nanoseconds(text).is_some(),
                    ExprKind::Text(text) => parse_timestamp(text).is_some(),
                    // The overload `duration(int)` is declared, but cel-go refuses integer literals for it.
                    ExprKind::Int(_) => name != "duration",
                    _ => true,
                };
                if !good {
                    self.fail(argument.at, format!("invalid {name} argument"));
                }
            }
            ("format", Some(Expr { kind: ExprKind::Text(template), .. }), [list]) => {
                if let ExprKind::List(items) = &list.kind {
                    self.template(at, template, items);
                }
            }
            _ => {}
        }
    }

    fn template(&mut self, at: usize, template: &str, items: &[(bool, Expr)]) {
        let check = |clause: Clause, index: usize| -> Result<String, Problem> {
            self.writable(clause, &items[index].1).map_or(Ok(String::new()), Err)
        };
        match fill(template, items.len(), true, check) {
            Err(Refused::Value(problem)) => self.fail(problem.at, problem.message),
            Err(Refused::Template(why)) => self.fail(at, why),
            Ok((_, used)) if items.len() > used => {
                let given = items.len();
                self.fail(
                    at,
                    format!("too many arguments supplied to string.format (expected {used}, got {given})"),
                );
            }
            Ok(_) => {}
        }
    }

    /// Returns the error for a clause that cannot format an expression, or a part of a literal list or map.
    fn writable(&self, clause: Clause, expr: &Expr) -> Option<Problem> {
        let own = clause.check(self.kind(expr)).map(|message| Problem { at: expr.at, message });
        let inside = clause.looks_inside() && matches!(expr.kind, ExprKind::List(_) | ExprKind::Map(_));
        own.or_else(|| {
            parts(expr).into_iter().filter(|_| inside).find_map(|part| self.writable(clause, part))
        })
    }
}

fn mismatch(wanted: &Type<'_>, found: &Type<'_>) -> String {
    format!("expected type '{wanted}' but found '{found}'")
}

/// Returns whether two types are equal, where an empty list or map inside of them fits any type.
fn is_same(a: &Type<'_>, b: &Type<'_>) -> bool {
    let inner =
        |a: &Type<'_>, b: &Type<'_>| matches!(a, Type::Dyn) || matches!(b, Type::Dyn) || is_same(a, b);
    match (a, b) {
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => inner(a, b),
        (Type::Map(key, value), Type::Map(key2, value2)) => inner(key, key2) && inner(value, value2),
        (Type::Kind(_), Type::Kind(_)) => true,
        (a, b) => a == b,
    }
}
