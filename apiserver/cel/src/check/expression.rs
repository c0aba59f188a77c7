//! The check of expressions in admission policies, whose variables have no schema.

use std::rc::Rc;
use std::sync::Arc;

use super::checker::{Checker, Locals};
use super::compile::compile_patterns;
use super::literals;
use super::report::display;
use crate::cost::Types;
use crate::declared::{AUTHORIZER, NAMESPACE, REQUEST, simplified};
use crate::syntax::ast::Expr;
use crate::syntax::parse;
use crate::types::{Type, simple};

/// The variables of expressions outside of schemas, with their types.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Locals<'static>,
    patches: bool,
}

impl Environment {
    /// Declares variables. `request`, `namespaceObject`, `authorizer` and `variables` have the types of kube-apiserver's
    /// declarations, and all others any type.
    pub fn new(names: &[&str]) -> Self {
        let typed = |name: &str| match name {
            "request" => simple(REQUEST),
            "namespaceObject" => simple(NAMESPACE),
            "authorizer" => simple(AUTHORIZER),
            "variables" => Type::Variables(Rc::default()),
            _ => Type::Dyn,
        };
        let variables = names.iter().map(|name| (Arc::from(*name), typed(name))).collect();
        Self { variables, patches: false }
    }

    /// Returns the environment without a variable.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let variables = self.variables.iter().filter(|(known, _)| &**known != name).cloned().collect();
        Self { variables, ..*self }
    }

    /// Returns the environment of expressions that make patches: objects of the types `JSONPatch`, `Object` and `Object.FIELD`.
    #[must_use]
    pub fn patching(&self) -> Self {
        Self { patches: true, ..self.clone() }
    }

    /// Declares `variables.NAME`, with the type of an expression. Without one, it has any type.
    pub(crate) fn define(&mut self, name: &str, found: Option<&Type<'static>>) {
        let found = found.map_or(Type::Dyn, simplified);
        for (_, variables) in &mut self.variables {
            if let Type::Variables(fields) = variables {
                Rc::make_mut(fields).insert(name.into(), found.clone());
            }
        }
    }
}

/// Parses and checks an expression.
///
/// # Errors
/// The errors in cel-go's format.
pub(crate) fn expression(source: &str, environment: &Environment) -> Result<(Expr, Type<'static>), String> {
    let mut checker = Checker {
        own: None,
        optional: false,
        patches: environment.patches,
        problems: Vec::new(),
        failures: 0,
        types: Types::default(),
    };
    let mut expr = parse(source).map_err(|problem| display(source, &[problem], 1))?;
    let found = checker.check(&expr, &mut environment.variables.clone());
    if checker.problems.is_empty() {
        (checker.problems, checker.failures) = literals::literals(&expr, &checker.types);
    }
    if !checker.problems.is_empty() {
        return Err(display(source, &checker.problems, checker.failures));
    }
    compile_patterns(&mut expr);
    Ok((expr, found.decided()))
}
