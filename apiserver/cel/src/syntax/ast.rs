//! The syntax tree of a rule.

use std::sync::Arc;

/// A node, with the place in the source that errors name (in characters).
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    /// Offset of the token that stands for the node: an operator, a parenthesis, the first letter.
    pub at: usize,
    /// What it is.
    pub kind: ExprKind,
    /// Levels of the tree from here down, this one included: every walk is recursive, and the parser refuses what is higher than
    /// [`MAX_CEL_DEPTH`](crate::limits::MAX_CEL_DEPTH).
    pub height: usize,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.5`
    Double(f64),
    /// `'x'`
    Text(Arc<str>),
    /// `b'x'`
    Bytes(Arc<[u8]>),
    /// A variable, a type, or the first part of a namespaced function.
    Ident(Arc<str>),
    /// `target.field`, `target.?field`, and `has(target.field)`.
    Select(Box<Select>),
    /// `function(args)`, `target.function(args)`, and every operator under its internal name.
    Call(Box<Call>),
    /// `[a, ?b]`
    List(Vec<(bool, Expr)>),
    /// `{a: b, ?c: d}`
    Map(Vec<(bool, Expr, Expr)>),
    /// A macro that binds variables.
    Macro(Box<Macro>),
}

/// Selection of a field.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    /// Of what.
    pub target: Expr,
    /// The field as written.
    pub field: Arc<str>,
    /// The property it names: `x__dash__y` is `x-y`.
    pub property: Arc<str>,
    /// `has(...)`
    pub test: bool,
    /// `.?`
    pub optional: bool,
}

/// A call of a function or an operator.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The receiver of a member call.
    pub target: Option<Expr>,
    /// `matches`, `_+_`, `_[_]`
    pub function: Arc<str>,
    /// Arguments.
    pub args: Vec<Expr>,
    /// A pattern that is a literal, compiled.
    pub pattern: Option<std::sync::Arc<regex::Regex>>,
}

/// The macros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacroKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`, `existsOne`
    ExistsOne,
    /// `filter`
    Filter,
    /// `map`, `transformList`
    Map,
    /// `transformMap`
    TransformMap,
    /// `transformMapEntry`
    TransformMapEntry,
    /// `optMap`
    OptMap,
    /// `optFlatMap`
    OptFlatMap,
    /// `sortBy`
    SortBy,
}

/// A macro: `target.all(first, second, body)`.
#[derive(Debug, Clone)]
pub(crate) struct Macro {
    /// Which.
    pub kind: MacroKind,
    /// What it ranges over.
    pub target: Expr,
    /// The variable, or the index or key when there are two.
    pub first: Arc<str>,
    /// The second variable.
    pub second: Option<Arc<str>>,
    /// The filter of `map` and the transformations.
    pub filter: Option<Expr>,
    /// The predicate or transformation.
    pub body: Expr,
}

impl Expr {
    /// A node above its parts.
    pub fn new(at: usize, kind: ExprKind) -> Self {
        let mut below = 0;
        let mut part = |expr: &Expr| below = below.max(expr.height);
        match &kind {
            ExprKind::Select(select) => part(&select.target),
            ExprKind::Call(call) => call.target.iter().chain(&call.args).for_each(part),
            ExprKind::List(items) => items.iter().for_each(|(_, item)| part(item)),
            ExprKind::Map(entries) => entries.iter().for_each(|(_, key, value)| {
                part(key);
                part(value);
            }),
            ExprKind::Macro(call) => {
                [&call.target, &call.body].into_iter().chain(&call.filter).for_each(part)
            }
            _ => {}
        }
        Self { at, kind, height: below + 1 }
    }

    /// The properties of `self` and `oldSelf` that the expression reads; `None` when it reads one of them as a whole.
    pub fn properties(&self) -> Option<Vec<Arc<str>>> {
        let mut found = Vec::new();
        self.gather(&mut found).then_some(found)
    }

    fn gather(&self, found: &mut Vec<Arc<str>>) -> bool {
        match &self.kind {
            ExprKind::Ident(name) => !matches!(&**name, "self" | "oldSelf"),
            ExprKind::Select(select) => match &select.target.kind {
                ExprKind::Ident(name) if matches!(&**name, "self" | "oldSelf") => {
                    found.push(select.property.clone());
                    found.push(select.field.clone());
                    true
                }
                _ => select.target.gather(found),
            },
            ExprKind::Call(call) => call.target.iter().chain(&call.args).all(|part| part.gather(found)),
            ExprKind::List(items) => items.iter().all(|(_, item)| item.gather(found)),
            ExprKind::Map(entries) => {
                entries.iter().all(|(_, key, value)| key.gather(found) && value.gather(found))
            }
            ExprKind::Macro(call) => {
                let parts = [&call.target, &call.body];
                parts.into_iter().chain(&call.filter).all(|part| part.gather(found))
            }
            _ => true,
        }
    }

    /// Whether the variable occurs free in the expression.
    pub fn uses(&self, name: &str) -> bool {
        match &self.kind {
            ExprKind::Ident(ident) => &**ident == name,
            ExprKind::Select(select) => select.target.uses(name),
            ExprKind::Call(call) => {
                call.target.as_ref().is_some_and(|target| target.uses(name))
                    || call.args.iter().any(|arg| arg.uses(name))
            }
            ExprKind::List(items) => items.iter().any(|(_, item)| item.uses(name)),
            ExprKind::Map(entries) => {
                entries.iter().any(|(_, key, value)| key.uses(name) || value.uses(name))
            }
            ExprKind::Macro(call) => {
                let bound = &*call.first == name || call.second.as_deref() == Some(name);
                call.target.uses(name)
                    || (!bound
                        && (call.body.uses(name)
                            || call.filter.as_ref().is_some_and(|filter| filter.uses(name))))
            }
            _ => false,
        }
    }
}
