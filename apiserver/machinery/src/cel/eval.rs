//! Evaluation of expressions. Errors have cel-go's wording, because the server shows them to clients.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use super::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use super::cost::actual;
use super::functions;
use super::time;
use super::value::{Failure, Outcome, Val};
use super::work;
use crate::limits::MAX_CEL_CALL_COST;

/// The variables in scope, innermost first.
#[derive(Debug)]
pub struct Scope<'s, 'a> {
    name: &'s str,
    value: Val<'a>,
    outer: Option<&'s Scope<'s, 'a>>,
}

impl<'s, 'a> Scope<'s, 'a> {
    /// Adds a variable in front of the outer scope.
    pub fn new(name: &'s str, value: Val<'a>, outer: Option<&'s Scope<'s, 'a>>) -> Self {
        Self { name, value, outer }
    }

    fn find(&self, name: &str) -> Option<&Val<'a>> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if here.name == name {
                return Some(&here.value);
            }
            scope = here.outer;
        }
        None
    }
}

/// Evaluates an expression and returns its outcome and its cost in cel-go's units. The error of the outcome is cel-go's
/// message, or [`CANCELLED`] if the cost exceeds [`MAX_CEL_CALL_COST`](crate::limits::MAX_CEL_CALL_COST) or the work
/// that the cost does not cover exceeds [`MAX_CEL_CALL_WORK`](crate::limits::MAX_CEL_CALL_WORK).
pub fn evaluate<'a>(expr: &Expr, scope: &Scope<'_, 'a>) -> (Outcome<'a>, u64) {
    let run = Run { cost: Cell::new(0) };
    work::begin();
    let outcome = run.eval(expr, scope);
    let cost = run.cost.get().max(work::cost());
    (if run.is_stopped() { Err(CANCELLED) } else { outcome }, cost)
}

/// The error of an evaluation that was stopped because of its cost.
pub const CANCELLED: Failure = Cow::Borrowed("operation cancelled: actual cost limit exceeded");

struct Run {
    cost: Cell<u64>,
}

pub(crate) const NO_OVERLOAD: Failure = Cow::Borrowed("no such overload");

impl Run {
    fn is_stopped(&self) -> bool {
        self.cost.get() > MAX_CEL_CALL_COST || work::is_exceeded()
    }

    fn charge(&self, cost: u64) {
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

    fn eval<'a>(&self, expr: &Expr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
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
                Val::Map(Rc::new(out))
            }
            ExprKind::Macro(call) => return self.expand(call, scope),
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
                    self.charge(actual::called(name, &args, result.as_ref().ok()));
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
                    return Err(functions::no_overload("hasValue", &[target], false));
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

/// Returns the cost of adding one result to the accumulator: reading it, the call that adds, and the added list or
/// entry.
fn step_cost(kind: MacroKind, chosen: bool) -> u64 {
    match (kind, chosen) {
        (MacroKind::All | MacroKind::Exists, _) => 1,
        (MacroKind::ExistsOne, chosen) => 2 * u64::from(chosen),
        (MacroKind::Filter, chosen) => 13 * u64::from(chosen),
        (MacroKind::TransformMap, _) => 3,
        (MacroKind::TransformMapEntry, _) => 2,
        _ => 12,
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

/// The accumulator of a macro.
#[derive(Default)]
struct Fold<'a> {
    /// Whether the result is final, whatever the remaining items are.
    decided: bool,
    found: usize,
    failure: Option<Failure>,
    items: Vec<Val<'a>>,
    entries: Vec<(Val<'a>, Val<'a>)>,
}

impl<'a> Fold<'a> {
    /// Adds one result.
    fn step(&mut self, kind: MacroKind, first: Val<'a>, result: Outcome<'a>) -> Result<(), Failure> {
        match (kind, result) {
            (MacroKind::All, Ok(Val::Bool(false))) | (MacroKind::Exists, Ok(Val::Bool(true))) => {
                self.found += 1;
                self.decided = true;
            }
            (MacroKind::All | MacroKind::Exists, Ok(Val::Bool(_))) => {}
            // An error only counts if no other item decides.
            (MacroKind::All | MacroKind::Exists, Err(failure)) => {
                self.failure.get_or_insert(failure);
            }
            (MacroKind::ExistsOne, Ok(Val::Bool(flag))) => self.found += usize::from(flag),
            (MacroKind::Filter, Ok(Val::Bool(flag))) => {
                if flag {
                    self.items.push(first);
                }
            }
            (MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Filter, Ok(_)) => {
                return Err(NO_OVERLOAD);
            }
            (MacroKind::TransformMap, Ok(value)) => self.entries.push((first, value)),
            (MacroKind::TransformMapEntry, Ok(value)) => {
                for (key, value) in value.entries().ok_or(NO_OVERLOAD)? {
                    if self.entries.iter().any(|(found, _)| found.equals(&key)) {
                        return Err(
                            format!("insert failed: key {} already exists", functions::show(&key)).into()
                        );
                    }
                    self.entries.push((key, value));
                }
            }
            (_, Ok(value)) => self.items.push(value),
            (_, Err(failure)) => return Err(failure),
        }
        Ok(())
    }

    fn finish(self, kind: MacroKind) -> Outcome<'a> {
        match kind {
            MacroKind::All | MacroKind::Exists => match (self.found, self.failure) {
                (0, Some(failure)) => Err(failure),
                (found, _) => Ok(Val::Bool((found > 0) == (kind == MacroKind::Exists))),
            },
            MacroKind::ExistsOne => Ok(Val::Bool(self.found == 1)),
            MacroKind::TransformMap | MacroKind::TransformMapEntry => Ok(Val::Map(Rc::new(self.entries))),
            _ => Ok(Val::list(self.items)),
        }
    }
}

/// Returns the pairs that a macro ranges over. With `two` variables they are index and item, or key and value;
/// otherwise the first is the item or the key.
fn pairs<'a>(target: &Val<'a>, two: bool) -> Result<Vec<(Val<'a>, Val<'a>)>, Failure> {
    if let Some(items) = target.items() {
        let pair = |(i, item): (usize, Val<'a>)| {
            if two { (Val::Int(i as i64), item) } else { (item, Val::Null) }
        };
        return Ok(items.into_iter().enumerate().map(pair).collect());
    }
    target.entries().ok_or_else(|| {
        let kind = match target {
            Val::Null => "Null",
            Val::Bool(_) => "Bool",
            Val::Int(_) => "Int",
            Val::Uint(_) => "Uint",
            Val::Double(_) => "Double",
            Val::Text(_) => "String",
            Val::Bytes(_) => "Bytes",
            Val::Duration(_) => "Duration",
            Val::Timestamp(_) => "Timestamp",
            _ => "Value",
        };
        format!("got 'types.{kind}', expected iterable type").into()
    })
}

fn ident<'a>(name: &str, scope: &Scope<'_, 'a>) -> Outcome<'a> {
    if let Some(value) = scope.find(name) {
        return Ok(value.clone());
    }
    const TYPES: [&str; 11] = [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
    ];
    match TYPES.iter().find(|kind| **kind == name) {
        Some(kind) => Ok(Val::Type(kind)),
        None => Err(format!("no such attribute(s): {name}").into()),
    }
}

fn field<'a>(target: &Val<'a>, select: &Select) -> Option<Val<'a>> {
    match target {
        Val::Object(map, schema) => {
            // Names of properties are escaped, keys of maps are not.
            let name = match schema {
                Some(schema) if schema.additional_properties.is_some() => &select.field,
                _ if map.contains_key(&*select.property) => &select.property,
                _ => &select.field,
            };
            let value = map.get(&**name)?;
            // A property that is null counts as absent.
            if value.is_null() && schema.is_some_and(|schema| schema.properties.contains_key(&**name)) {
                return None;
            }
            Some(Val::of(value, super::value::child(*schema, name)))
        }
        Val::Map(_) => target.get(&Val::Text(Cow::Owned(select.field.to_string()))),
        _ => None,
    }
}

fn index<'a>(target: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
    match target {
        Val::Array(..) | Val::List(_) => {
            let at = match key {
                Val::Int(n) => Some(*n),
                Val::Uint(n) => i64::try_from(*n).ok(),
                Val::Double(n) if n.fract() == 0.0 => Some(*n as i64),
                _ => None,
            };
            let Some(at) = at else {
                return Err(match key {
                    Val::Double(n) => format!("unsupported index value {n} in list").into(),
                    _ => format!("unsupported index type '{}' in list", key.type_name()).into(),
                });
            };
            let found = match target {
                Val::Array(list, schema) => usize::try_from(at)
                    .ok()
                    .and_then(|i| list.get(i))
                    .map(|value| Val::of(value, schema.and_then(|schema| schema.items.as_deref()))),
                Val::List(list) => usize::try_from(at).ok().and_then(|i| list.get(i)).cloned(),
                _ => None,
            };
            found.ok_or_else(|| format!("index out of bounds: {at}").into())
        }
        _ => target.get(key).ok_or_else(|| format!("no such key: {}", functions::show(key)).into()),
    }
}

fn operator<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("!_", [Val::Bool(flag)]) => Ok(Val::Bool(!flag)),
        ("-_", [Val::Int(n)]) => n.checked_neg().map(Val::Int).ok_or("integer overflow".into()),
        ("-_", [Val::Double(n)]) => Ok(Val::Double(-n)),
        ("-_", [Val::Uint(_) | Val::Bytes(_) | Val::Null]) => Err("no such overload: -_".into()),
        ("!_" | "-_", _) => Err(NO_OVERLOAD),
        // Values of Kubernetes' types only compare with values of the same type.
        ("_==_" | "_!=_", [a, b]) if a.is_own() && a.type_name() != b.type_name() => Err(NO_OVERLOAD),
        ("_==_", [a, b]) => Ok(Val::Bool(a.equals(b))),
        ("_!=_", [a, b]) => Ok(Val::Bool(!a.equals(b))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            let comparable = a.type_name() == b.type_name() || (is_number(a) && is_number(b));
            match a.order(b) {
                Some(order) => Ok(Val::Bool(match name {
                    "_<_" => order.is_lt(),
                    "_<=_" => order.is_le(),
                    "_>_" => order.is_gt(),
                    _ => order.is_ge(),
                })),
                None if comparable && is_number(a) => Ok(Val::Bool(false)),
                None => Err(not_taken(name, a)),
            }
        }
        ("@in", [item, list]) => match (list.items(), list) {
            (Some(items), _) => Ok(Val::Bool(items.iter().any(|found| found.equals(item)))),
            (None, Val::Object(..) | Val::Map(_)) => Ok(Val::Bool(list.get(item).is_some())),
            _ => Err(NO_OVERLOAD),
        },
        ("_[_]" | "_[?_]", [target, key]) => {
            let optional = name == "_[?_]";
            match target {
                Val::Optional(inner) => {
                    let found = inner.as_deref().and_then(|inner| index(inner, key).ok());
                    Ok(Val::Optional(found.map(Rc::new)))
                }
                _ if optional => Ok(Val::Optional(index(target, key).ok().map(Rc::new))),
                _ => index(target, key),
            }
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(name, a, b),
        _ => return None,
    })
}

fn is_number(value: &Val<'_>) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let overflow = |text: &'static str| move || Failure::Borrowed(text);
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" if *b == 0 => return Err("division by zero".into()),
                "_/_" => a.checked_div(*b),
                _ if *b == 0 => return Err("modulus by zero".into()),
                _ => a.checked_rem(*b),
            };
            result.map(Val::Int).ok_or_else(overflow("integer overflow"))
        }
        (Val::Uint(a), Val::Uint(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" if *b == 0 => return Err("division by zero".into()),
                "_/_" => a.checked_div(*b),
                _ if *b == 0 => return Err("modulus by zero".into()),
                _ => a.checked_rem(*b),
            };
            result.map(Val::Uint).ok_or_else(overflow("unsigned integer overflow"))
        }
        (Val::Double(a), Val::Double(b)) => match name {
            "_+_" => Ok(Val::Double(a + b)),
            "_-_" => Ok(Val::Double(a - b)),
            "_*_" => Ok(Val::Double(a * b)),
            "_/_" => Ok(Val::Double(a / b)),
            _ => Err("no such overload: _%_".into()),
        },
        (Val::Text(a), Val::Text(b)) if name == "_+_" => Ok(Val::text(format!("{a}{b}"))),
        (Val::Bytes(a), Val::Bytes(b)) if name == "_+_" => Ok(Val::Bytes([&**a, &**b].concat().into())),
        (Val::Array(..) | Val::List(_), Val::Array(..) | Val::List(_)) if name == "_+_" => {
            a.concat(b).ok_or(NO_OVERLOAD)
        }
        _ => time::arithmetic(name, a, b).unwrap_or_else(|| Err(not_taken(name, a))),
    }
}

/// Returns cel-go's error for operands that do not fit. It names the operator if the first operand's type does not
/// support it.
fn not_taken(name: &str, first: &Val<'_>) -> Failure {
    let number = is_number(first);
    // In cel-go, strings, durations and timestamps are receivers, whose errors do not name the operator.
    let knows = number && !(name == "_%_" && matches!(first, Val::Double(_)))
        || matches!(first, Val::Text(_) | Val::Duration(_) | Val::Timestamp(_))
        || match first {
            Val::Bytes(_) => !matches!(name, "_-_" | "_*_" | "_/_" | "_%_"),
            Val::Bool(_) => name.contains(['<', '>']),
            Val::List(_) | Val::Array(..) => name == "_+_",
            _ => false,
        };
    if knows { NO_OVERLOAD } else { format!("no such overload: {name}").into() }
}
