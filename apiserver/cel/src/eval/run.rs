//! The evaluator, which walks the syntax tree and counts the cost.

use std::cell::Cell;
use std::rc::Rc;

use super::lookup::{field, ident};
use super::macros::{Fold, pairs, step_cost};
use super::operators::operator;
use super::scope::Scope;
use crate::cost::actual;
use crate::functions;
use crate::limits::MAX_CEL_CALL_COST;
use crate::syntax::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use crate::values::{CANCELLED, NO_OVERLOAD, Outcome, Val, no_overload, work};

/// Evaluates an expression and returns its outcome and its cost in cel-go's units. The error of the outcome is cel-go's
/// message, or [`CANCELLED`] if the cost exceeds [`MAX_CEL_CALL_COST`](crate::limits::MAX_CEL_CALL_COST) or the work
/// that the cost does not cover exceeds [`MAX_CEL_CALL_WORK`](crate::limits::MAX_CEL_CALL_WORK).
pub(crate) fn evaluate<'a>(expr: &Expr, scope: &Scope<'_, 'a>) -> (Outcome<'a>, u64) {
    let run = Run { cost: Cell::new(0) };
    work::begin();
    let outcome = run.eval(expr, scope);
    let cost = run.cost.get().max(work::cost());
    (if run.is_stopped() { Err(CANCELLED) } else { outcome }, cost)
}

pub(super) struct Run {
    cost: Cell<u64>,
}

impl Run {
    fn is_stopped(&self) -> bool {
        self.cost.get() > MAX_CEL_CALL_COST || work::is_exceeded()
    }

    pub(super) fn charge(&self, cost: u64) {
        self.cost.set(self.cost.get().saturating_add(cost));
    }

    /// Evaluates without a charge, because cel-go does not count the parts of an attribute that it looks up in one
    /// step.
    fn free<'a>(&self, expr: &Expr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let before = self.cost.get();
        let outcome = self.eval(expr, scope);
        if self.cost.get() <= MAX_CEL_CALL_COST {
            self.cost.set(before);
        }
        outcome
    }

    pub(super) fn eval<'a>(&self, expr: &Expr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        // Past the limit nothing succeeds, so that no side of a junction can decide.
        if self.is_stopped() {
            return Err(CANCELLED);
        }
        Ok(match &expr.kind {
            ExprKind::Null => Val::Null,
            ExprKind::Bool(flag) => Val::Bool(*flag),
            ExprKind::Int(n) => Val::Int(*n),
            ExprKind::Uint(n) => Val::Uint(*n),
            ExprKind::Double(n) => Val::Double(*n),
            ExprKind::Text(text) => Val::text(&**text),
            ExprKind::Bytes(bytes) => Val::Bytes(Rc::from(&**bytes)),
            ExprKind::Ident(name) => {
                self.charge(u64::from(scope.find(name).is_some()));
                return ident(name, scope);
            }
            ExprKind::Select(select) => return self.select(select, scope),
            ExprKind::Call(call) => return self.call(call, scope),
            ExprKind::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (optional, item) in items {
                    match (optional, self.eval(item, scope)?) {
                        (true, Val::Optional(value)) => out.extend(value.map(|value| (*value).clone())),
                        (_, value) => out.push(value),
                    }
                }
                self.charge(actual::made(expr));
                Val::list(out)
            }
            ExprKind::Map(entries) => {
                let mut out = Vec::with_capacity(entries.len());
                for (optional, key, value) in entries {
                    let key = self.eval(key, scope)?;
                    match (optional, self.eval(value, scope)?) {
                        (true, Val::Optional(value)) => {
                            out.extend(value.map(|value| (key, (*value).clone())))
                        }
                        (_, value) => out.push((key, value)),
                    }
                }
                self.charge(actual::made(expr));
                Val::map(out)
            }
            ExprKind::Macro(call) => return self.expand(call, scope),
            ExprKind::Create(create) => return self.create(expr, create, scope),
        })
    }

    fn select<'a>(&self, select: &Select, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let target = self.eval(&select.target, scope)?;
        self.charge(u64::from(!select.test));
        if let Val::Optional(inner) = &target {
            let found = inner.as_deref().and_then(|inner| field(inner, select));
            return Ok(match (select.test, found) {
                (true, found) => Val::Bool(found.is_some()),
                (false, found) => Val::Optional(found.map(Rc::new)),
            });
        }
        if target.items().is_some() {
            return Err("unsupported index type 'string' in list".into());
        }
        if let (Val::Made(made), false, false) = (&target, select.test, select.optional) {
            return Ok(made.read(&select.field));
        }
        // Only maps have keys. In particular, null has none, because it stands for an absent object.
        let found = field(&target, select);
        match (select.test, select.optional, found) {
            (true, _, found) => Ok(Val::Bool(found.is_some())),
            (_, true, found) => Ok(Val::Optional(found.map(Rc::new))),
            (_, _, Some(Val::Failed(why))) => Err(why.to_string().into()),
            (_, _, Some(found)) => Ok(found),
            (_, _, None) => Err(format!("no such key: {}", select.property).into()),
        }
    }

    fn call<'a>(&self, call: &Call, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        match (&*call.function, &call.args[..]) {
            ("_&&_", [a, b]) => self.junction(a, b, false, scope),
            ("_||_", [a, b]) => self.junction(a, b, true, scope),
            ("_?_:_", [condition, then, other]) => match self.eval(condition, scope)? {
                Val::Bool(true) => self.eval(then, scope),
                Val::Bool(false) => self.eval(other, scope),
                _ => Err(NO_OVERLOAD),
            },
            ("orValue", [other]) => match self.receiver(call, scope)? {
                Val::Optional(Some(value)) => Ok((*value).clone()),
                Val::Optional(None) => self.eval(other, scope),
                value => Ok(value),
            },
            ("or", [other]) => match self.receiver(call, scope)? {
                Val::Optional(None) => self.eval(other, scope),
                value => Ok(value),
            },
            (name, _) => {
                let mut args = Vec::with_capacity(call.args.len() + 1);
                let mut namespaced = None;
                if let Some(target) = &call.target {
                    match &target.kind {
                        // In `sets.contains(a, b)`, the receiver is a namespace, not a value.
                        ExprKind::Ident(space) if scope.find(space).is_none() => {
                            namespaced = Some(format!("{space}.{name}"));
                        }
                        _ => args.push(self.eval(target, scope)?),
                    }
                }
                for (i, arg) in call.args.iter().enumerate() {
                    let looked_up = i == 1 && matches!(name, "_[_]" | "_[?_]") && is_attribute(arg);
                    args.push(if looked_up { self.free(arg, scope) } else { self.eval(arg, scope) }?);
                }
                let member = call.target.is_some() && namespaced.is_none();
                let name = namespaced.as_deref().unwrap_or(name);
                let result = (!member).then(|| operator(name, &args)).flatten();
                let result =
                    result.unwrap_or_else(|| functions::call(name, member, &args, call.pattern.as_deref()));
                if let Ok(made) = &result {
                    made.count_made();
                }
                if !actual::is_folded(name, &call.args) {
                    self.charge(actual::called(name, member, &args, result.as_ref().ok()));
                }
                result
            }
        }
    }

    fn receiver<'a>(&self, call: &Call, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        match &call.target {
            Some(target) => self.eval(target, scope),
            None => Err(NO_OVERLOAD),
        }
    }

    /// Evaluates `&&` or `||`. A side that decides takes precedence over an error on the other side.
    fn junction<'a>(&self, a: &Expr, b: &Expr, decides: bool, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let left = self.eval(a, scope);
        if matches!(left, Ok(Val::Bool(found)) if found == decides) {
            return left;
        }
        let right = self.eval(b, scope);
        match (left, right) {
            (_, Ok(Val::Bool(found))) if found == decides => Ok(Val::Bool(decides)),
            (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => Ok(Val::Bool(!decides)),
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
            _ => Err(NO_OVERLOAD),
        }
    }

    fn expand<'a>(&self, call: &Macro, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let target = self.eval(&call.target, scope)?;
        match call.kind {
            MacroKind::OptMap | MacroKind::OptFlatMap => {
                let Val::Optional(inner) = target else {
                    self.charge(1);
                    return Err(no_overload("hasValue", &[target], false));
                };
                // The macro expands to `hasValue()`, `value()` and `optional.of()`.
                self.charge(3);
                let Some(inner) = inner else { return Ok(Val::Optional(None)) };
                let inner = Scope::new(&call.first, (*inner).clone(), Some(scope));
                let result = self.eval(&call.body, &inner)?;
                return Ok(if call.kind == MacroKind::OptMap { Val::some(result) } else { result });
            }
            MacroKind::SortBy => return self.sort_by(call, target, scope),
            _ => {}
        }
        let mut fold = Fold::default();
        for (first, second) in pairs(&target, call.second.is_some())? {
            let outer = Scope::new(&call.first, first.clone(), Some(scope));
            let inner;
            let here = match &call.second {
                Some(name) => {
                    inner = Scope::new(name, second, Some(&outer));
                    &inner
                }
                None => &outer,
            };
            // The loop condition reads the accumulator.
            self.charge(match call.kind {
                MacroKind::All => 2,
                MacroKind::Exists => 3,
                _ => 0,
            });
            if fold.decided {
                break;
            }
            if let Some(filter) = &call.filter {
                match self.eval(filter, here)? {
                    Val::Bool(true) => {}
                    Val::Bool(false) => continue,
                    _ => return Err(NO_OVERLOAD),
                }
            }
            let result = self.eval(&call.body, here);
            let chosen = matches!(result, Ok(Val::Bool(true)));
            fold.step(call.kind, first, result)?;
            self.charge(step_cost(call.kind, chosen));
            if self.is_stopped() {
                return Err(CANCELLED);
            }
        }
        // The result is the accumulator, which `exists_one` compares first.
        self.charge(if call.kind == MacroKind::ExistsOne { 2 } else { 1 });
        fold.finish(call.kind)
    }

    fn sort_by<'a>(&self, call: &Macro, target: Val<'a>, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let items = target.items().ok_or(NO_OVERLOAD)?;
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let inner = Scope::new(&call.first, item.clone(), Some(scope));
            keyed.push((self.eval(&call.body, &inner)?, item));
            self.charge(step_cost(call.kind, true));
        }
        self.charge(2);
        let keys: Vec<Val<'a>> = keyed.iter().map(|(key, _)| key.clone()).collect();
        // The macro creates the list of keys, then the sorted list.
        self.charge(10 + actual::compared(&keys));
        if keyed.windows(2).any(|pair| pair[0].0.order(&pair[1].0).is_none()) {
            return Err("list elements must have the same type".into());
        }
        keyed.sort_by(|a, b| a.0.order(&b.0).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Val::list(keyed.into_iter().map(|(_, item)| item).collect()))
    }
}

/// Returns whether the expression is a variable or a field of one, which cel-go looks up in one step.
fn is_attribute(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ident(_) => true,
        ExprKind::Select(select) => !select.test && !select.optional && is_attribute(&select.target),
        _ => false,
    }
}
