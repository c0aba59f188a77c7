//! The check of expressions in admission policies, whose variables have no schema.

use std::sync::{Arc, LazyLock};

use machinery::schema::Schema;
use serde_json::{Value, json};

use super::checker::Checker;
use super::compile::compile_patterns;
use super::literals;
use super::report::display;
use crate::cost::Types;
use crate::syntax::ast::Expr;
use crate::syntax::parse;
use crate::types::{Shape, Type};

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
pub(crate) fn expression(source: &str, variables: &[&str]) -> Result<(Expr, Type<'static>), String> {
    let mut checker =
        Checker { own: None, optional: false, problems: Vec::new(), failures: 0, types: Types::default() };
    let mut expr = parse(source).map_err(|problem| display(source, &[problem], 1))?;
    let typed = |name: &str| match name {
        "request" => Type::Request(Shape(&REQUEST)),
        _ => Type::Dyn,
    };
    let mut locals = variables.iter().map(|name| (Arc::from(*name), typed(name))).collect();
    let found = checker.check(&expr, &mut locals);
    if checker.problems.is_empty() {
        (checker.problems, checker.failures) = literals::literals(&expr, &checker.types);
    }
    if !checker.problems.is_empty() {
        return Err(display(source, &checker.problems, checker.failures));
    }
    compile_patterns(&mut expr);
    Ok((expr, found))
}
