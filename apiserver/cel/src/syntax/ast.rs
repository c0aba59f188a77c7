//! The syntax tree of a CEL expression.

use std::sync::Arc;

/// A node of the tree, with the offset in the source that errors refer to, in characters.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    /// Offset of the node's main token: an operator, a parenthesis or the first letter.
    pub at: usize,
    /// The kind of node, with its children.
    pub kind: ExprKind,
    /// Height of the tree below and including this node. All walks are recursive, so the parser refuses trees higher
    /// than [`MAX_CEL_DEPTH`](crate::limits::MAX_CEL_DEPTH).
    pub height: usize,
}

/// The kinds of nodes.
#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    /// The literal `null`.
    Null,
    /// A boolean literal, for example `true`.
    Bool(bool),
    /// An integer literal, for example `1`.
    Int(i64),
    /// An unsigned integer literal, for example `1u`.
    Uint(u64),
    /// A floating point literal, for example `1.5`.
    Double(f64),
    /// A string literal, for example `'x'`.
    Text(Arc<str>),
    /// A bytes literal, for example `b'x'`.
    Bytes(Arc<[u8]>),
    /// A variable, a type, or the namespace of a function.
    Ident(Arc<str>),
    /// `target.field`, `target.?field`, and `has(target.field)`.
    Select(Box<Select>),
    /// `function(args)`, `target.function(args)`, or an operator under its internal name.
    Call(Box<Call>),
    /// A list, for example `[a, ?b]`. The flag marks optional items.
    List(Vec<(bool, Expr)>),
    /// A map, for example `{a: b, ?c: d}`. The flag marks optional entries.
    Map(Vec<(bool, Expr, Expr)>),
    /// A macro that binds variables.
    Macro(Box<Macro>),
    /// An object of a named type, for example `Object.spec{replicas: 1}`.
    Create(Box<Create>),
}

/// The selection of a field.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    /// The expression whose field is selected.
    pub target: Expr,
    /// The field as written.
    pub field: Arc<str>,
    /// The property that the field name stands for: the field `x__dash__y` is the property `x-y`.
    pub property: Arc<str>,
    /// Whether the node is `has(target.field)`.
    pub test: bool,
    /// Whether the operator is `.?`.
    pub optional: bool,
}

/// A call of a function or an operator.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The receiver of a member call.
    pub target: Option<Expr>,
    /// The name of the function or operator, for example `matches`, `_+_` or `_[_]`.
    pub function: Arc<str>,
    /// The arguments without the receiver.
    pub args: Vec<Expr>,
    /// The compiled pattern, if the pattern argument is a literal.
    pub pattern: Option<std::sync::Arc<machinery::pattern::Pattern>>,
}

/// The construction of an object of a named type.
#[derive(Debug, Clone)]
pub(crate) struct Create {
    /// The name of the type, with its dots.
    pub name: Arc<str>,
    /// The fields in the order in which they are written.
    pub fields: Vec<Field>,
}

/// A field of an object under construction.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Offset of its colon, to which errors refer.
    pub at: usize,
    /// Whether it is only set if its value is an optional with a value (`?field: value`).
    pub optional: bool,
    /// Its name as written.
    pub name: Arc<str>,
    /// The expression of the value.
    pub value: Expr,
}

/// The macros that bind variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacroKind {
    /// The macro `all`.
    All,
    /// The macro `exists`.
    Exists,
    /// The macros `exists_one` and `existsOne`.
    ExistsOne,
    /// The macro `filter`.
    Filter,
    /// The macros `map` and `transformList`.
    Map,
    /// The macro `transformMap`.
    TransformMap,
    /// The macro `transformMapEntry`.
    TransformMapEntry,
    /// The macro `optMap`.
    OptMap,
    /// The macro `optFlatMap`.
    OptFlatMap,
    /// The macro `sortBy`.
    SortBy,
}

/// A macro call, for example `target.all(first, second, body)`.
#[derive(Debug, Clone)]
pub(crate) struct Macro {
    /// The kind of macro.
    pub kind: MacroKind,
    /// The list, map or optional that the macro ranges over.
    pub target: Expr,
    /// The variable, or with two variables the index or key.
    pub first: Arc<str>,
    /// The second variable, which holds the item or value.
    pub second: Option<Arc<str>>,
    /// The filter of `map` and of the transformations.
    pub filter: Option<Expr>,
    /// The predicate or the transformation.
    pub body: Expr,
}

impl Expr {
    /// Builds a node and computes its height.
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
            ExprKind::Create(create) => create.fields.iter().for_each(|field| part(&field.value)),
            _ => {}
        }
        Self { at, kind, height: below + 1 }
    }

    /// Returns the properties of `self` and `oldSelf` that the expression reads, or `None` if it uses one of them as a
    /// whole.
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
            ExprKind::Create(create) => create.fields.iter().all(|field| field.value.gather(found)),
            _ => true,
        }
    }

    /// Returns whether the variable occurs free in the expression.
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
            ExprKind::Create(create) => create.fields.iter().any(|field| field.value.uses(name)),
            _ => false,
        }
    }
}
