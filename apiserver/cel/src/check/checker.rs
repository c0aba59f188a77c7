//! The type checker.

use std::rc::Rc;
use std::sync::Arc;

use super::literals;
use super::report::display;
use crate::cost::{self, Types};
use crate::declarations::{Bindings, overloads};
use crate::declared::{AUTHORIZER, RESOURCE_CHECK};
use crate::limits::MAX_CEL_PROBLEMS;
use crate::syntax::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use crate::syntax::parse;
use crate::syntax::token::Problem;
use crate::types::{Type, simple};

/// Checks expressions, one after the other, and collects their errors.
pub(super) struct Checker<'s> {
    /// The type of `self`, or `None` for an expression without `self`.
    pub(super) own: Option<Type<'s>>,
    pub(super) optional: bool,
    /// Whether expressions may make patches: objects of the types `Object` and `JSONPatch`.
    pub(super) patches: bool,
    /// The first [`MAX_CEL_PROBLEMS`] errors.
    pub(super) problems: Vec<Problem>,
    /// The number of all errors.
    pub(super) failures: usize,
    /// The type of each node of the tree.
    pub(super) types: Types<'s>,
}

/// Variables that macros bind, innermost last.
pub(super) type Locals<'s> = Vec<(Arc<str>, Type<'s>)>;

impl<'s> Checker<'s> {
    /// Returns the tree and its type. The tree is boxed because [`Types`] refers to its nodes by address.
    pub(super) fn run(&mut self, source: &str) -> Result<(Box<Expr>, Type<'s>), String> {
        let expr = Box::new(parse(source).map_err(|problem| display(source, &[problem], 1))?);
        self.problems.clear();
        self.failures = 0;
        self.types.clear();
        let found = self.check(&expr, &mut Vec::new());
        if self.problems.is_empty() {
            (self.problems, self.failures) = literals::literals(&expr, &self.types);
        }
        if self.problems.is_empty() {
            Ok((expr, found.decided()))
        } else {
            Err(display(source, &self.problems, self.failures))
        }
    }

    pub(super) fn fail(&mut self, at: usize, message: String) -> Type<'s> {
        self.failures += 1;
        if self.problems.len() < MAX_CEL_PROBLEMS {
            self.problems.push(Problem { at, message });
        }
        Type::Error
    }

    fn variable(&self, name: &str, locals: &Locals<'s>) -> Option<Type<'s>> {
        if let Some((_, found)) = locals.iter().rev().find(|(local, _)| &**local == name) {
            return Some(found.clone());
        }
        match name {
            "self" => self.own.clone(),
            "oldSelf" if self.optional => self.own.clone().map(|own| Type::Optional(Rc::new(own))),
            "oldSelf" => self.own.clone(),
            _ => None,
        }
    }

    pub(super) fn check(&mut self, expr: &Expr, locals: &mut Locals<'s>) -> Type<'s> {
        let found = self.kind(expr, locals).limited();
        self.types.insert(cost::key(expr), found.clone().decided());
        found
    }

    fn kind(&mut self, expr: &Expr, locals: &mut Locals<'s>) -> Type<'s> {
        match &expr.kind {
            ExprKind::Null => simple("null_type"),
            ExprKind::Bool(_) => simple("bool"),
            ExprKind::Int(_) => simple("int"),
            ExprKind::Uint(_) => simple("uint"),
            ExprKind::Double(_) => simple("double"),
            ExprKind::Text(_) => simple("string"),
            ExprKind::Bytes(_) => simple("bytes"),
            ExprKind::Ident(name) => self.ident(expr.at, name, locals),
            ExprKind::Select(select) => self.select(expr.at, select, locals),
            ExprKind::Call(call) => self.call(expr.at, call, locals),
            ExprKind::List(items) => {
                let found: Vec<Type<'s>> =
                    items.iter().map(|(optional, item)| self.item(*optional, item, locals)).collect();
                Type::List(Rc::new(join(found)))
            }
            ExprKind::Map(entries) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for (optional, key, value) in entries {
                    keys.push(self.check(key, locals));
                    values.push(self.item(*optional, value, locals));
                }
                map(join(keys), join(values))
            }
            ExprKind::Macro(call) => self.expand(expr.at, call, locals),
            ExprKind::Create(create) => self.create(expr.at, create, locals),
        }
    }

    /// Returns the type of a list item or a map value. For an optional (`?x`), this is the type of the value inside.
    pub(super) fn item(&mut self, optional: bool, item: &Expr, locals: &mut Locals<'s>) -> Type<'s> {
        match (optional, self.check(item, locals)) {
            (true, Type::Optional(inner)) => (*inner).clone(),
            (true, found) if !found.is_unknown() => {
                let wanted = Type::Optional(Rc::new(found.clone()));
                self.fail(item.at, format!("expected type '{wanted}' but found '{found}'"))
            }
            (_, found) => found,
        }
    }

    fn ident(&mut self, at: usize, name: &str, locals: &Locals<'s>) -> Type<'s> {
        if let Some(found) = self.variable(name, locals) {
            return found;
        }
        let named = match name {
            "bool" => simple("bool"),
            "int" => simple("int"),
            "uint" => simple("uint"),
            "double" => simple("double"),
            "string" => simple("string"),
            "bytes" => simple("bytes"),
            "null_type" => simple("null_type"),
            "list" => Type::List(Rc::new(Type::Dyn)),
            "map" => Type::Map(Rc::new(Type::Dyn), Rc::new(Type::Dyn)),
            "type" => Type::Dyn,
            "optional_type" => Type::Optional(Rc::new(Type::Dyn)),
            _ => return self.fail(at, format!("undeclared reference to '{name}' (in container '')")),
        };
        Type::Kind(Rc::new(named))
    }

    fn select(&mut self, at: usize, select: &Select, locals: &mut Locals<'s>) -> Type<'s> {
        let target = self.check(&select.target, locals);
        if is_request_resource(select) && target == simple(AUTHORIZER) {
            return simple(RESOURCE_CHECK);
        }
        let (inner, chained) = match &target {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let found = match &inner {
            Type::Dyn | Type::Open | Type::Error => Type::Dyn,
            Type::Map(_, value) => (**value).clone(),
            fielded if fielded.has_fields() => match inner.field(&select.field, &select.property) {
                Some(found) => found,
                None => return self.fail(at, format!("undefined field '{}'", select.field)),
            },
            other => return self.fail(at, format!("type '{other}' does not support field selection")),
        };
        match (select.test, select.optional || chained) {
            (true, _) => simple("bool"),
            (false, true) => Type::Optional(Rc::new(found)),
            (false, false) => found,
        }
    }

    fn call(&mut self, at: usize, call: &Call, locals: &mut Locals<'s>) -> Type<'s> {
        let mut name = call.function.to_string();
        let mut member = call.target.is_some();
        let mut args = Vec::with_capacity(call.args.len() + 1);
        if let Some(target) = &call.target {
            let qualified = match &target.kind {
                ExprKind::Ident(space) if self.variable(space, locals).is_none() => {
                    Some(format!("{space}.{name}")).filter(|name| self.declares(name))
                }
                _ => None,
            };
            match qualified {
                Some(qualified) => {
                    name = qualified;
                    member = false;
                }
                None => args.push(self.check(target, locals)),
            }
        }
        for arg in &call.args {
            args.push(self.check(arg, locals));
        }
        if matches!(&*name, "_&&_" | "_||_") {
            for (arg, found) in call.args.iter().zip(&args) {
                self.expect_bool(arg.at, found);
            }
            return simple("bool");
        }
        let declared = overloads(&name);
        if declared.is_empty() {
            return self.fail(at, format!("undeclared reference to '{name}' (in container '')"));
        }
        let mut results: Vec<Type<'s>> = Vec::new();
        for overload in declared {
            let Some((wanted, is_member, result)) = overload.types() else { continue };
            let mut bindings = Bindings::default();
            let fits = is_member == member
                && wanted.len() == args.len()
                && wanted.iter().zip(&args).all(|(wanted, actual)| bindings.fits(wanted, actual));
            if fits {
                results.push(bindings.resolve(&result));
            }
        }
        match results.len() {
            0 => {
                let shown = signature(member, &args);
                self.fail(at, format!("found no matching overload for '{name}' applied to '{shown}'"))
            }
            1 => results.swap_remove(0),
            // Several overloads can only fit if an argument is `dyn`.
            _ => join(results.into_iter().map(Type::decided).collect()),
        }
    }

    fn expand(&mut self, at: usize, call: &Macro, locals: &mut Locals<'s>) -> Type<'s> {
        let mut condition = None;
        let target = self.check(&call.target, locals);
        let optional = matches!(call.kind, MacroKind::OptMap | MacroKind::OptFlatMap);
        let (first, second) = match &target {
            Type::Optional(inner) if optional => ((**inner).clone(), Type::Dyn),
            Type::List(item) if call.second.is_some() => (simple("int"), (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Open | Type::Error => (Type::Dyn, Type::Dyn),
            other => {
                let message = format!("expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)");
                self.fail(call.target.at, message)
            }
            .pair(),
        };
        let depth = locals.len();
        locals.push((call.first.clone(), first.clone()));
        if let Some(name) = &call.second {
            locals.push((name.clone(), second));
        }
        if let Some(filter) = &call.filter {
            condition = Some(self.check(filter, locals));
        }
        let body = self.check(&call.body, locals);
        locals.truncate(depth);
        let made = match call.kind {
            MacroKind::All | MacroKind::Exists => {
                self.expect_bool(call.body.at, &body);
                return simple("bool");
            }
            MacroKind::ExistsOne => {
                self.expect_condition(at, &body, &simple("int"));
                return simple("bool");
            }
            MacroKind::Filter => {
                let made = Type::List(Rc::new(first));
                self.expect_condition(at, &body, &made);
                return made;
            }
            MacroKind::Map => Type::List(Rc::new(body)),
            MacroKind::TransformMap => map(first, body),
            MacroKind::TransformMapEntry => {
                if !matches!(body, Type::Map(..)) && !body.is_unknown() {
                    let message = format!(
                        "found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), {body})'"
                    );
                    return self.fail(at, message);
                }
                body
            }
            MacroKind::OptFlatMap => body,
            MacroKind::OptMap => Type::Optional(Rc::new(body)),
            MacroKind::SortBy => return self.sorted(at, target, body),
        };
        if let Some(found) = &condition {
            self.expect_condition(at, found, &made);
        }
        made
    }

    /// Checks `sortBy`, which sorts by a list of keys that it generates first.
    fn sorted(&mut self, at: usize, target: Type<'s>, keys: Type<'s>) -> Type<'s> {
        let args = [target.clone(), Type::List(Rc::new(keys))];
        let name = "@sortByAssociatedKeys";
        let fits = overloads(name).iter().filter_map(|overload| overload.types()).any(|(wanted, ..)| {
            let mut bindings = Bindings::default();
            wanted.iter().zip(&args).all(|(wanted, actual)| bindings.fits(wanted, actual))
        });
        if fits {
            return target;
        }
        let shown = signature(true, &args);
        self.fail(at, format!("found no matching overload for '{name}' applied to '{shown}'"))
    }

    /// Checks the condition of a macro that filters. cel-go expands it to `condition ? taken : left`, which its errors
    /// show.
    fn expect_condition(&mut self, at: usize, found: &Type<'s>, made: &Type<'s>) {
        if !found.is_unknown() && *found != simple("bool") {
            let message =
                format!("found no matching overload for '_?_:_' applied to '({found}, {made}, {made})'");
            self.fail(at, message);
        }
    }

    fn expect_bool(&mut self, at: usize, found: &Type<'s>) {
        if !found.is_unknown() && *found != simple("bool") {
            self.fail(at, format!("expected type 'bool' but found '{found}'"));
        }
    }
}

/// Returns whether a selection is the variable `authorizer.requestResource`, whose name has two parts.
fn is_request_resource(select: &Select) -> bool {
    let names = matches!(&select.target.kind, ExprKind::Ident(name) if &**name == "authorizer");
    names && &*select.field == "requestResource" && !select.test && !select.optional
}

impl Type<'_> {
    fn pair(self) -> (Self, Self) {
        (self.clone(), self)
    }
}

fn signature(member: bool, args: &[Type<'_>]) -> String {
    let list = |args: &[Type<'_>]| args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match args.split_first() {
        Some((target, rest)) if member => format!("{target}.({})", list(rest)),
        _ => format!("({})", list(args)),
    }
}

/// Returns the type of a map. Key types other than simple ones become `dyn`, because a nested key type would double the
/// size of the type at each level.
fn map<'s>(key: Type<'s>, value: Type<'s>) -> Type<'s> {
    let key = if matches!(key, Type::Simple(_) | Type::Open) { key } else { Type::Dyn };
    Type::Map(Rc::new(key), Rc::new(value))
}

/// Returns the common type of all, or `dyn`.
fn join(types: Vec<Type<'_>>) -> Type<'_> {
    types.iter().try_fold(Type::Open, |joined, found| joined.unified(found)).unwrap_or(Type::Dyn)
}
