//! Type checking of rules against the schema, and compilation.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use super::cost::{self, Types};
use super::parse::parse;
use super::token::{NOWHERE, Problem};
use super::types::{Bindings, Shape, Type, escape, overloads, simple};
use super::validators;
use crate::limits::{MAX_CEL_PROBLEMS, MAX_CEL_PROBLEMS_TEXT};
use crate::schema::field_path::find;
use crate::schema::{Rule, Schema, formats};

/// A rule ready for evaluation.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub(super) expr: Expr,
    pub(super) message: Option<Expr>,
    pub(super) field_path: Option<String>,
    pub(super) uses_old_self: bool,
    /// The properties of `self` and `oldSelf` that are read; `None`: one of them as a whole.
    pub(super) reads: Option<Vec<Arc<str>>>,
}

impl Compiled {
    /// Whether the rule reads this property, or the whole value.
    pub(super) fn reads(&self, property: &str) -> bool {
        self.reads.as_ref().is_none_or(|read| read.iter().any(|name| &**name == property))
    }
}

/// What is wrong with a rule when its CustomResourceDefinition is written.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleProblem {
    /// In `rule`.
    Rule(String),
    /// In `messageExpression`.
    MessageExpression(String),
    /// `fieldPath` names no field.
    FieldPath,
    /// `optionalOldSelf` without `oldSelf`.
    OptionalOldSelf,
}

/// Parses a rule; types are not checked, for that was done when it was written ([`problems`]).
///
/// # Errors
/// The syntax error.
pub fn compile(schema: &Schema, rule: &Rule) -> Result<Compiled, String> {
    let parsed = |source: &str| {
        let mut expr = parse(source).map_err(|problem| display(source, &[problem], 1))?;
        compile_patterns(&mut expr);
        Ok::<Expr, String>(expr)
    };
    let expr = parsed(&rule.rule)?;
    Ok(Compiled {
        uses_old_self: expr.uses("oldSelf"),
        reads: expr.properties(),
        expr,
        message: rule.message_expression.as_deref().and_then(|source| parsed(source).ok()),
        field_path: rule.field_path.as_deref().and_then(|path| Some(find(schema, path, true).ok()?.0)),
    })
}

/// Compiles patterns that are literals, so that they are compiled once.
fn compile_patterns(expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::Select(select) => compile_patterns(&mut select.target),
        ExprKind::Call(call) => {
            call.target.iter_mut().for_each(compile_patterns);
            call.args.iter_mut().for_each(compile_patterns);
            let at = usize::from(call.target.is_none());
            if matches!(&*call.function, "matches" | "find" | "findAll")
                && let Some(ExprKind::Text(text)) = call.args.get(at).map(|arg| &arg.kind)
            {
                call.pattern = formats::shared(text).ok();
            }
        }
        ExprKind::List(items) => items.iter_mut().for_each(|(_, item)| compile_patterns(item)),
        ExprKind::Map(entries) => entries.iter_mut().for_each(|(_, key, value)| {
            compile_patterns(key);
            compile_patterns(value);
        }),
        ExprKind::Macro(call) => {
            compile_patterns(&mut call.target);
            call.filter.iter_mut().for_each(compile_patterns);
            compile_patterns(&mut call.body);
        }
        _ => {}
    }
}

/// Errors as cel-go displays them, each with its line and a caret; `count` of them, of which `problems` are the first. Each shows its
/// whole line, so only so many are shown as stay readable.
fn display(source: &str, problems: &[Problem], count: usize) -> String {
    let mut problems = problems.to_vec();
    problems.sort_by_key(|problem| problem.at.wrapping_add(1));
    let mut text = String::new();
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            text.push('\n');
            if text.len() > MAX_CEL_PROBLEMS_TEXT {
                text.push_str(&format!("{} more errors were truncated", count - index));
                return text;
            }
        }
        text.push_str(&shown(source, problem));
    }
    if count > problems.len() {
        text.push_str(&format!("\n{} more errors were truncated", count - problems.len()));
    }
    text
}

fn shown(source: &str, problem: &Problem) -> String {
    if problem.at == NOWHERE {
        return format!("ERROR: <input>:-1:0: {}", problem.message);
    }
    let before: String = source.chars().take(problem.at).collect();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let text = source.lines().nth(line).unwrap_or_default();
    let text = text.replace('\t', " ");
    // What stands below a wide letter is wide.
    let dots: String = text.chars().take(column).map(|c| if c.len_utf8() > 1 { '．' } else { '.' }).collect();
    let mark = if text.chars().nth(column).is_some_and(|c| c.len_utf8() > 1) { '＾' } else { '^' };
    format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}{mark}", line + 1, column + 1, problem.message)
}

/// What a rule can cost at most, in cel-go's units: once, on one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleCost {
    /// `rule`
    pub rule: u64,
    /// `messageExpression`, when there is one.
    pub message: Option<u64>,
    /// Whether the rule compiles and reads `oldSelf`.
    pub uses_old_self: bool,
}

/// Everything that is wrong with a rule on this schema node, and what it can cost; `root` for rules on the whole object.
pub fn problems(schema: &Schema, rule: &Rule, root: bool) -> (Vec<RuleProblem>, RuleCost) {
    let mut problems = Vec::new();
    let mut costs = RuleCost::default();
    let mut checker = Checker {
        own: Some(Type::of(schema, root).unwrap_or(Type::Dyn)),
        optional: rule.optional_old_self,
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
            match validators::instantiate(&expr) {
                Err(why) => problems.push(RuleProblem::Rule(format!("program instantiation failed: {why}"))),
                Ok(()) => costs.rule = cost::estimate(&expr, &checker.types, schema, root),
            }
        }
    }
    // Of a rule that does not compile nobody knows what it uses.
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
            Ok((expr, _)) => match validators::instantiate(&expr) {
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

/// What admission tells of a request, as expressions see it.
static REQUEST: LazyLock<Schema> = LazyLock::new(|| {
    let object = |fields: &[&str]| {
        let fields = fields.iter().map(|name| ((*name).to_owned(), json!({"type": "string"})));
        json!({"type": "object", "properties": Value::Object(fields.collect())})
    };
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let kind = object(&["group", "version", "kind"]);
    let resource = object(&["group", "version", "resource"]);
    let user = json!({"type": "object", "properties": {
        "username": text, "uid": text, "groups": texts, "extra": {"type": "object", "additionalProperties": texts},
    }});
    let request = json!({"type": "object", "properties": {
        "kind": kind, "resource": resource, "subResource": text, "requestKind": kind, "requestResource": resource,
        "requestSubResource": text, "name": text, "namespace": text, "operation": text, "userInfo": user,
        "dryRun": {"type": "boolean"}, "options": {"x-kubernetes-preserve-unknown-fields": true},
    }});
    Schema::parse(&request).unwrap_or_default()
});

/// Parses and checks an expression over `variables`: the `request` of admission, and others of any type.
///
/// # Errors
/// What is wrong, as cel-go shows it.
pub(super) fn expression(source: &str, variables: &[&str]) -> Result<(Expr, Type<'static>), String> {
    let mut checker =
        Checker { own: None, optional: false, problems: Vec::new(), failures: 0, types: Types::default() };
    let mut expr = parse(source).map_err(|problem| display(source, &[problem], 1))?;
    let typed = |name: &str| match name {
        "request" => Type::Object(Shape(&REQUEST), false),
        _ => Type::Dyn,
    };
    let mut locals = variables.iter().map(|name| (Arc::from(*name), typed(name))).collect();
    let found = checker.check(&expr, &mut locals);
    if checker.problems.is_empty() {
        (checker.problems, checker.failures) = validators::literals(&expr, &checker.types);
    }
    if !checker.problems.is_empty() {
        return Err(display(source, &checker.problems, checker.failures));
    }
    compile_patterns(&mut expr);
    Ok((expr, found))
}

struct Checker<'s> {
    /// The type of `self`, where there is one.
    own: Option<Type<'s>>,
    optional: bool,
    /// The first [`MAX_CEL_PROBLEMS`].
    problems: Vec<Problem>,
    /// How many there are.
    failures: usize,
    /// What each node of the tree turned out to be.
    types: Types<'s>,
}

/// Variables that macros bind, innermost last.
type Locals<'s> = Vec<(Arc<str>, Type<'s>)>;

impl<'s> Checker<'s> {
    /// The tree, which is boxed so that its nodes keep their addresses, and its type.
    fn run(&mut self, source: &str) -> Result<(Box<Expr>, Type<'s>), String> {
        let expr = Box::new(parse(source).map_err(|problem| display(source, &[problem], 1))?);
        self.problems.clear();
        self.failures = 0;
        self.types.clear();
        let found = self.check(&expr, &mut Vec::new());
        if self.problems.is_empty() {
            (self.problems, self.failures) = validators::literals(&expr, &self.types);
        }
        if self.problems.is_empty() {
            Ok((expr, found))
        } else {
            Err(display(source, &self.problems, self.failures))
        }
    }

    fn fail(&mut self, at: usize, message: String) -> Type<'s> {
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

    fn check(&mut self, expr: &Expr, locals: &mut Locals<'s>) -> Type<'s> {
        let found = self.kind(expr, locals);
        self.types.insert(cost::key(expr), found.clone());
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
        }
    }

    /// The type of a list's item or a map's value. For an optional (`?x`), the type of the value inside.
    fn item(&mut self, optional: bool, item: &Expr, locals: &mut Locals<'s>) -> Type<'s> {
        match (optional, self.check(item, locals)) {
            (true, Type::Optional(inner)) => (*inner).clone(),
            (true, found) if !matches!(found, Type::Dyn | Type::Error) => {
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
        let (inner, chained) = match &target {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let found = match &inner {
            Type::Dyn | Type::Error => Type::Dyn,
            Type::Map(_, value) => (**value).clone(),
            Type::Object(..) | Type::Metadata => match inner.field(&select.field, &select.property) {
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
                    Some(format!("{space}.{name}")).filter(|name| !overloads(name).is_empty())
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
            // Several fit only where an argument is dyn.
            _ => join(results),
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
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
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
                if !matches!(body, Type::Map(..) | Type::Dyn | Type::Error) {
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

    /// `sortBy` sorts by a list of keys that it makes first.
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

    /// Macros that choose what they take in stand for `condition ? taken : left`, which is what errors show.
    fn expect_condition(&mut self, at: usize, found: &Type<'s>, made: &Type<'s>) {
        if !matches!(found, Type::Dyn | Type::Error) && *found != simple("bool") {
            let message =
                format!("found no matching overload for '_?_:_' applied to '({found}, {made}, {made})'");
            self.fail(at, message);
        }
    }

    fn expect_bool(&mut self, at: usize, found: &Type<'s>) {
        if !matches!(found, Type::Dyn | Type::Error) && *found != simple("bool") {
            self.fail(at, format!("expected type 'bool' but found '{found}'"));
        }
    }
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

/// The type of a map. What is no key is `dyn`: with types below both sides, each map of maps would be twice as large to show and to
/// compare.
fn map<'s>(key: Type<'s>, value: Type<'s>) -> Type<'s> {
    let key = if matches!(key, Type::Simple(_)) { key } else { Type::Dyn };
    Type::Map(Rc::new(key), Rc::new(value))
}

/// The one type of all, or `dyn`.
fn join(types: Vec<Type<'_>>) -> Type<'_> {
    let mut types = types.into_iter();
    let Some(first) = types.next() else { return Type::Dyn };
    if types.all(|other| other == first) { first } else { Type::Dyn }
}

/// Whether a property's name can be written in a rule.
pub fn is_accessible(property: &str) -> bool {
    let escaped = escape(property);
    !escaped.is_empty()
        && !escaped.starts_with(|c: char| c.is_ascii_digit())
        && escaped.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
