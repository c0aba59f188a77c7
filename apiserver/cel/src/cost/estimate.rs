//! The maximum cost of a rule, estimated from the limits of its schema when the CustomResourceDefinition is written.
//!
//! The numbers are those of cel-go's `checker/cost.go`, of the estimators of Kubernetes' CEL library, and of the sizes
//! that its `SchemaDeclType` assigns to values, so this server refuses exactly the rules that kube-apiserver refuses as
//! too expensive.

use std::sync::Arc;

use machinery::schema::Schema;

use super::calls;
use super::node::{Entry, Node, Types, key};
use super::sizes::{Place, Size};
use super::units::{LIST, MAP, STRUCTURE, TRAVERSAL, scaled};
use crate::syntax::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use crate::types::Type;

/// Returns the maximum cost of evaluating `expr` once, for a rule on `own`. `root` is true for a rule on the whole
/// object.
pub(crate) fn estimate<'s>(expr: &Expr, types: &Types<'s>, own: &'s Schema, root: bool) -> u64 {
    let own = Place::Value(own, root);
    Estimate { types, own, locals: Vec::new() }.node(expr).cost
}

struct Local<'s> {
    name: Arc<str>,
    size: Option<Size>,
    place: Option<Place<'s>>,
}

struct Estimate<'t, 's> {
    types: &'t Types<'s>,
    own: Place<'s>,
    locals: Vec<Local<'s>>,
}

impl<'s> Estimate<'_, 's> {
    fn kind(&self, expr: &Expr) -> &Type<'s> {
        self.types.get(&key(expr)).unwrap_or(&Type::Dyn)
    }

    /// Returns the size of a value according to the schema, or else according to its type.
    fn sized(&self, expr: &Expr, place: Option<Place<'s>>) -> Option<Size> {
        place.and_then(Place::size).or_else(|| self.kind(expr).is_scalar().then_some(Size::ONE))
    }

    fn node(&mut self, expr: &Expr) -> Node<'s> {
        let literal = |size: usize| Node { size: Some(Size::fixed(size as u64)), ..Node::default() };
        match &expr.kind {
            ExprKind::Text(text) => literal(text.chars().count()),
            ExprKind::Bytes(bytes) => literal(bytes.len()),
            ExprKind::Int(n) => Node { literal: Some(u64::try_from(*n).unwrap_or(0)), ..literal(1) },
            ExprKind::Null | ExprKind::Bool(_) | ExprKind::Uint(_) | ExprKind::Double(_) => literal(1),
            ExprKind::Ident(name) => self.ident(expr, name),
            ExprKind::Select(select) => self.select(expr, select),
            ExprKind::Call(call) => self.call(expr, call),
            ExprKind::List(items) => {
                let nodes: Vec<Node<'s>> = items.iter().map(|(_, item)| self.node(item)).collect();
                let value = Size::any(nodes.iter().map(Node::size));
                let entry = Entry { list: true, key: Size::ONE, value };
                let cost = nodes.iter().fold(LIST, |sum, node| sum.saturating_add(node.cost));
                Node { cost, entry: Some(entry), ..literal(items.len()) }
            }
            ExprKind::Map(entries) => {
                let nodes: Vec<(Node<'s>, Node<'s>)> =
                    entries.iter().map(|(_, key, value)| (self.node(key), self.node(value))).collect();
                let key = Size::any(nodes.iter().map(|(key, _)| key.size()));
                let value = Size::any(nodes.iter().map(|(_, value)| value.size()));
                let cost = nodes
                    .iter()
                    .fold(MAP, |sum, (key, value)| sum.saturating_add(key.cost).saturating_add(value.cost));
                Node { cost, entry: Some(Entry { list: false, key, value }), ..literal(entries.len()) }
            }
            ExprKind::Macro(call) => self.expand(call),
            ExprKind::Create(create) => {
                let paid = create
                    .fields
                    .iter()
                    .fold(STRUCTURE, |sum, field| sum.saturating_add(self.node(&field.value).cost));
                Node { cost: paid, ..Node::default() }
            }
        }
    }

    fn ident(&mut self, expr: &Expr, name: &str) -> Node<'s> {
        let local = self.locals.iter().rev().find(|local| &*local.name == name);
        let (place, known) = match local {
            Some(local) => (local.place, local.size),
            // Type names end up here, too: cel-go's path for them has one step, which it takes for `self`.
            None => (Some(self.own), None),
        };
        let size = self.sized(expr, place).or(known);
        Node { cost: 1, size, entry: None, place, ..Node::default() }
    }

    fn select(&mut self, expr: &Expr, select: &Select) -> Node<'s> {
        let target = self.node(&select.target);
        if select.test {
            return Node { cost: target.cost, size: self.sized(expr, None), ..Node::default() };
        }
        if select.optional || matches!(self.kind(&select.target), Type::Optional(_)) {
            // The selection is a function of the optional library.
            return Node {
                cost: target.cost.saturating_add(1),
                size: self.sized(expr, None),
                ..Node::default()
            };
        }
        let kind = self.kind(&select.target);
        let structured = matches!(kind, Type::Map(..)) || kind.has_fields();
        // Without a place, cel-go's path begins with the field, and cel-go takes this first step for `self`.
        let place = match target.place {
            Some(place) => place.field(&select.property),
            None => Some(self.own),
        };
        Node {
            cost: target.cost.saturating_add(u64::from(structured)),
            size: self.sized(expr, place),
            place,
            ..Node::default()
        }
    }

    /// Returns the variables of a macro with their sizes and places.
    fn ranges(&self, call: &Macro, target: &Node<'s>) -> (Local<'s>, Option<Local<'s>>) {
        let list = match target.entry {
            Some(entry) => entry.list,
            None => matches!(self.kind(&call.target), Type::List(_)),
        };
        let entry = |pick: fn(Entry) -> Size| target.entry.map(pick);
        let below = |place: Option<Place<'s>>, step: fn(Place<'s>) -> Option<Place<'s>>| match place {
            Some(place) => step(place),
            None => Some(self.own),
        };
        let value = |name: &Arc<str>| Local {
            name: name.clone(),
            size: entry(|entry| entry.value),
            place: below(target.place, Place::item),
        };
        let key = |name: &Arc<str>| Local {
            name: name.clone(),
            size: entry(|entry| entry.key),
            // Indices of a list have no place in the schema.
            place: if list { None } else { below(target.place, Place::key) },
        };
        match &call.second {
            Some(second) => (key(&call.first), Some(value(second))),
            None if list => (value(&call.first), None),
            None => (key(&call.first), None),
        }
    }

    fn expand(&mut self, call: &Macro) -> Node<'s> {
        let target = self.node(&call.target);
        if matches!(call.kind, MacroKind::OptMap | MacroKind::OptFlatMap) {
            return self.optional(call, &target);
        }
        let (first, second) = self.ranges(call, &target);
        let depth = self.locals.len();
        let range = first.size.or_else(|| first.place.and_then(Place::size)).unwrap_or(Size::UNKNOWN);
        self.locals.push(first);
        self.locals.extend(second);
        let filter = call.filter.as_ref().map_or(0, |filter| self.node(filter).cost);
        let body = self.node(&call.body);
        self.locals.truncate(depth);
        // Reading the accumulator variable costs 1, and `@not_strictly_false` and `!` are calls.
        let made = LIST.saturating_add(body.cost);
        let (start, step, end) = match call.kind {
            MacroKind::All => (0, body.cost.saturating_add(3), 1),
            MacroKind::Exists => (0, body.cost.saturating_add(4), 1),
            MacroKind::ExistsOne => (0, body.cost.saturating_add(2), 2),
            MacroKind::Filter => (LIST, body.cost.saturating_add(2 + LIST + 1), 1),
            MacroKind::TransformMap => (MAP, body.cost.saturating_add(filter + 3), 1),
            MacroKind::TransformMapEntry => (MAP, body.cost.saturating_add(filter + 2), 1),
            _ => (LIST, made.saturating_add(filter).saturating_add(2), 1),
        };
        let count = target.size();
        let cost = target
            .cost
            .saturating_add(start)
            .saturating_add(step.saturating_mul(count.max))
            .saturating_add(end);
        let list = |value: Size| Some(Entry { list: true, key: Size::ONE, value: Size::ZERO.union(value) });
        match call.kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
                Node { cost, size: Some(Size::ONE), ..Node::default() }
            }
            MacroKind::Filter => Node { cost, size: Some(count), entry: list(range), ..Node::default() },
            MacroKind::Map => Node { cost, size: Some(count), entry: list(body.size()), ..Node::default() },
            // Sorting is estimated as a comparison of each key with each other one.
            MacroKind::SortBy => {
                let text = self.kind(&call.body).is_text();
                let factor = if text { 2.0 + TRAVERSAL } else { 2.0 };
                let pairs = count.times(count);
                let sorting = scaled(pairs.max, factor).saturating_add(1 + LIST);
                Node { cost: cost.saturating_add(sorting), size: Some(pairs), ..Node::default() }
            }
            _ => Node { cost, size: Some(count), ..Node::default() },
        }
    }

    /// Estimates `target.hasValue() ? optional.of(body) : optional.none()`, with the target's value bound in the body.
    fn optional(&mut self, call: &Macro, target: &Node<'s>) -> Node<'s> {
        self.locals.push(Local { name: call.first.clone(), size: None, place: None });
        let body = self.node(&call.body);
        self.locals.pop();
        let bound = target.cost.saturating_add(1 + LIST).saturating_add(body.cost);
        let wrapped = bound.saturating_add(u64::from(call.kind == MacroKind::OptMap));
        Node { cost: target.cost.saturating_add(1).saturating_add(wrapped), ..Node::default() }
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> Node<'s> {
        let mut name = call.function.to_string();
        let mut target = None;
        if let Some(receiver) = &call.target {
            match &receiver.kind {
                // In `sets.contains(a, b)`, the receiver is a namespace, not a value.
                ExprKind::Ident(space) if !self.types.contains_key(&key(receiver)) => {
                    name = format!("{space}.{name}");
                }
                _ => target = Some((self.node(receiver), self.kind(receiver).clone())),
            }
        }
        let args: Vec<(Node<'s>, Type<'s>)> =
            call.args.iter().map(|arg| (self.node(arg), self.kind(arg).clone())).collect();
        let paid = args.iter().fold(target.as_ref().map_or(0, |(node, _)| node.cost), |sum, (node, _)| {
            sum.saturating_add(node.cost)
        });
        match (&*name, &args[..]) {
            ("_?_:_", [(condition, _), (then, _), (other, _)]) => {
                let size = Some(then.size().union(other.size()));
                let entry = then.entry.zip(other.entry).map(|(a, b)| a.union(b));
                let cost = condition.cost.saturating_add(then.cost.max(other.cost));
                return Node { cost, size, entry, ..Node::default() };
            }
            ("_&&_" | "_||_", _) => return Node { cost: paid, size: Some(Size::ONE), ..Node::default() },
            ("dyn", [(node, _)]) => return Node { cost: paid.saturating_add(1), ..node.clone() },
            ("_[_]", [(container, kind), _]) if !matches!(kind, Type::Optional(_)) => {
                let place = match container.place {
                    Some(place) => place.item(),
                    None => Some(self.own),
                };
                let size = container.entry.map(|entry| entry.value).or_else(|| self.sized(expr, place));
                return Node { cost: paid.saturating_add(1), size, entry: None, place, ..Node::default() };
            }
            _ => {}
        }
        let found = calls::cost(&name, target.as_ref(), &args);
        let entry = match (&*name, &args[..]) {
            ("_+_", [(a, _), (b, _)]) => a.entry.zip(b.entry).map(|(a, b)| a.union(b)),
            _ => None,
        };
        let size = found.size.or_else(|| self.sized(expr, None));
        Node { cost: paid.saturating_add(found.cost), size, entry, ..Node::default() }
    }
}
