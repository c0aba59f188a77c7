//! Type checking of validation rules against the schema, and their compilation.

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

/// A rule that is ready for evaluation.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub(super) expr: Expr,
    pub(super) message: Option<Expr>,
    pub(super) field_path: Option<String>,
    pub(super) uses_old_self: bool,
    /// The properties of `self` and `oldSelf` that the rule reads, or `None` if it uses one of them as a whole.
    pub(super) reads: Option<Vec<Arc<str>>>,
}

impl Compiled {
    /// Returns whether the rule depends on this property.
    pub(super) fn reads(&self, property: &str) -> bool {
        self.reads.as_ref().is_none_or(|read| read.iter().any(|name| &**name == property))
    }
}

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

/// Parses a rule without type checking, which [`problems`] did when the rule was written.
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

/// Compiles all patterns that are literals, so that evaluation does not compile them again.
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

/// Formats errors as cel-go does, each with its source line and a caret. `count` is the number of all errors, of which
/// `problems` are the first. Each error repeats its source line, so the text is truncated.
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
    // Below a wide character the marker must be wide, too.
    let dots: String = text.chars().take(column).map(|c| if c.len_utf8() > 1 { '．' } else { '.' }).collect();
    let mark = if text.chars().nth(column).is_some_and(|c| c.len_utf8() > 1) { '＾' } else { '^' };
    format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}{mark}", line + 1, column + 1, problem.message)
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

/// The schema of the variable `request` in admission expressions.
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

/// Parses and checks an expression with `variables`. The variable `request` is the admission request, and the others
/// have any type.
///
/// # Errors
/// The errors in cel-go's format.
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
    /// The type of `self`, or `None` for an expression without `self`.
    own: Option<Type<'s>>,
    optional: bool,
    /// The first [`MAX_CEL_PROBLEMS`] errors.
    problems: Vec<Problem>,
    /// The number of all errors.
    failures: usize,
    /// The type of each node of the tree.
    types: Types<'s>,
}

/// Variables that macros bind, innermost last.
type Locals<'s> = Vec<(Arc<str>, Type<'s>)>;

impl<'s> Checker<'s> {
    /// Returns the tree and its type. The tree is boxed because [`Types`] refers to its nodes by address.
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

    /// Returns the type of a list item or a map value. For an optional (`?x`), this is the type of the value inside.
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
            // Several overloads can only fit if an argument is `dyn`.
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

/// Returns the type of a map. Key types other than simple ones become `dyn`, because a nested key type would double the
/// size of the type at each level.
fn map<'s>(key: Type<'s>, value: Type<'s>) -> Type<'s> {
    let key = if matches!(key, Type::Simple(_)) { key } else { Type::Dyn };
    Type::Map(Rc::new(key), Rc::new(value))
}

/// Returns the common type of all, or `dyn`.
fn join(types: Vec<Type<'_>>) -> Type<'_> {
    let mut types = types.into_iter();
    let Some(first) = types.next() else { return Type::Dyn };
    if types.all(|other| other == first) { first } else { Type::Dyn }
}

/// Returns whether a rule can refer to a property of this name.
pub fn is_accessible(property: &str) -> bool {
    let escaped = escape(property);
    !escaped.is_empty()
        && !escaped.starts_with(|c: char| c.is_ascii_digit())
        && escaped.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
