//! Member calls, and their expansion to [`Macro`] nodes.

use std::sync::Arc;

use super::ast::{Call, Expr, ExprKind, Macro, MacroKind};
use super::nodes::node;
use super::token::Problem;

fn variable(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Ident(name) => Some(name.clone()),
        _ => None,
    }
}

pub(super) fn member_call(at: usize, target: Expr, name: Arc<str>, args: Vec<Expr>) -> Result<Expr, Problem> {
    let one = match &*name {
        "all" => Some(MacroKind::All),
        "exists" => Some(MacroKind::Exists),
        "exists_one" => Some(MacroKind::ExistsOne),
        "filter" => Some(MacroKind::Filter),
        "map" => Some(MacroKind::Map),
        "optMap" => Some(MacroKind::OptMap),
        "optFlatMap" => Some(MacroKind::OptFlatMap),
        "sortBy" => Some(MacroKind::SortBy),
        _ => None,
    };
    let two = match &*name {
        "all" => Some(MacroKind::All),
        "exists" => Some(MacroKind::Exists),
        "exists_one" | "existsOne" => Some(MacroKind::ExistsOne),
        "transformList" => Some(MacroKind::Map),
        "transformMap" => Some(MacroKind::TransformMap),
        "transformMapEntry" => Some(MacroKind::TransformMapEntry),
        _ => None,
    };
    let two_variables = args.len() > 2 && two.is_some() && (args.len() == 3 || one.is_none());
    let bad = |arg: &Expr| {
        let message = match &*name {
            "optMap" | "optFlatMap" => format!("{name}() variable name must be a simple identifier"),
            "filter" | "map" | "sortBy" => "argument is not an identifier".to_owned(),
            _ => "argument must be a simple name".to_owned(),
        };
        Err(Problem { at: arg.at, message })
    };
    let accumulator = |arg: &Expr| match &arg.kind {
        ExprKind::Ident(found) if &**found == "__result__" => {
            Err(Problem { at: arg.at, message: "iteration variable overwrites accumulator variable".into() })
        }
        _ => Ok(()),
    };
    if let Some(first) = args.first().filter(|_| two_variables || (one.is_some() && args.len() == 2)) {
        accumulator(first)?;
    }
    let build = |kind, target, first, second, filter, body| {
        let call = Macro { kind, target, first, second, filter, body };
        node(at, ExprKind::Macro(Box::new(call)))
    };
    let mut rest = args.into_iter();
    match (one, two, rest.len()) {
        (Some(kind), _, 2) => {
            let (Some(first), Some(body)) = (rest.next(), rest.next()) else { return bad(&target) };
            let Some(first) = variable(&first) else { return bad(&first) };
            build(kind, target, first, None, None, body)
        }
        (Some(MacroKind::Map), None, 3) => {
            let (Some(first), filter, Some(body)) = (rest.next(), rest.next(), rest.next()) else {
                return bad(&target);
            };
            let Some(first) = variable(&first) else { return bad(&first) };
            build(MacroKind::Map, target, first, None, filter, body)
        }
        (_, Some(kind), 3 | 4) if rest.len() == 3 || one.is_none() => {
            let (Some(first), Some(second)) = (rest.next(), rest.next()) else { return bad(&target) };
            let Some(one) = variable(&first) else { return bad(&first) };
            let Some(two) = variable(&second) else { return bad(&second) };
            accumulator(&second)?;
            if one == two {
                return Err(Problem { at: second.at, message: format!("duplicate variable name: {one}") });
            }
            let filter = if rest.len() == 2 { rest.next() } else { None };
            let Some(body) = rest.next() else { return bad(&target) };
            build(kind, target, one, Some(two), filter, body)
        }
        _ => {
            let args: Vec<Expr> = rest.collect();
            let call = Call { target: Some(target), function: name, args, pattern: None };
            node(at, ExprKind::Call(Box::new(call)))
        }
    }
}
