//! Construction of nodes of the syntax tree, whose height is limited to [`MAX_CEL_DEPTH`].

use std::sync::Arc;

use super::ast::{Call, Expr, ExprKind, Select};
use super::names::unescape;
use super::token::{NOWHERE, Problem};
use crate::limits::MAX_CEL_DEPTH;

pub(super) fn too_deep() -> Problem {
    Problem { at: NOWHERE, message: format!("expression recursion limit exceeded: {MAX_CEL_DEPTH}") }
}

pub(super) fn node(at: usize, kind: ExprKind) -> Result<Expr, Problem> {
    let expr = Expr::new(at, kind);
    if expr.height > MAX_CEL_DEPTH { Err(too_deep()) } else { Ok(expr) }
}

pub(super) fn call(at: usize, function: &str, args: Vec<Expr>) -> Result<Expr, Problem> {
    let call = Call { target: None, function: function.into(), args, pattern: None };
    node(at, ExprKind::Call(Box::new(call)))
}

/// Builds a balanced tree from a chain of one operator, as cel-go does. `operators` are the offsets of the operators,
/// one fewer than `terms`.
pub(super) fn balanced(
    name: &str,
    terms: &mut std::vec::IntoIter<Expr>,
    operators: &[usize],
) -> Result<Option<Expr>, Problem> {
    let middle = operators.len() / 2;
    let Some(at) = operators.get(middle) else { return Ok(terms.next()) };
    let left = balanced(name, terms, &operators[..middle])?;
    let right = balanced(name, terms, &operators[middle + 1..])?;
    call(*at, name, left.into_iter().chain(right).collect()).map(Some)
}

pub(super) fn select(at: usize, target: Expr, field: Arc<str>, optional: bool) -> Result<Expr, Problem> {
    let property = unescape(&field);
    let select = Select { target, field, property, test: false, optional };
    node(at, ExprKind::Select(Box::new(select)))
}

pub(super) fn global_call(at: usize, name: &str, mut args: Vec<Expr>) -> Result<Expr, Problem> {
    if name == "has" && args.len() == 1 {
        return match args.pop() {
            Some(Expr { kind: ExprKind::Select(mut select), .. }) if !select.optional => {
                select.test = true;
                node(at, ExprKind::Select(select))
            }
            other => {
                let at = other.map_or(at, |other| other.at);
                Err(Problem { at, message: "invalid argument to has() macro".into() })
            }
        };
    }
    call(at, name, args)
}
