//! Compilation of rules for evaluation.

use std::sync::Arc;

use machinery::pattern;
use machinery::schema::field_path::find;
use machinery::schema::{Rule, Schema};

use super::report::display;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::parse;

/// A rule that is ready for evaluation.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub(crate) expr: Expr,
    pub(crate) message: Option<Expr>,
    pub(crate) field_path: Option<String>,
    pub(crate) uses_old_self: bool,
    /// The properties of `self` and `oldSelf` that the rule reads, or `None` if it uses one of them as a whole.
    pub(crate) reads: Option<Vec<Arc<str>>>,
}

impl Compiled {
    /// Returns whether the rule depends on this property.
    pub(crate) fn reads(&self, property: &str) -> bool {
        self.reads.as_ref().is_none_or(|read| read.iter().any(|name| &**name == property))
    }
}

/// Parses a rule without type checking, which [`super::problems`] did when the rule was written.
///
/// # Errors
/// The syntax error.
pub(crate) fn compile(schema: &Schema, rule: &Rule) -> Result<Compiled, String> {
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
pub(super) fn compile_patterns(expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::Select(select) => compile_patterns(&mut select.target),
        ExprKind::Call(call) => {
            call.target.iter_mut().for_each(compile_patterns);
            call.args.iter_mut().for_each(compile_patterns);
            let at = usize::from(call.target.is_none());
            if matches!(&*call.function, "matches" | "find" | "findAll")
                && let Some(ExprKind::Text(text)) = call.args.get(at).map(|arg| &arg.kind)
            {
                call.pattern = pattern::shared(text).ok();
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
        ExprKind::Create(create) => {
            create.fields.iter_mut().for_each(|field| compile_patterns(&mut field.value));
        }
        _ => {}
    }
}
