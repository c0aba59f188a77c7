//! Compiled ValidatingAdmissionPolicies.

use cel::program::{Environment, Expected, Program};
use serde_json::Value;

use super::basis::{Basis, text};

/// A policy that validates.
pub(crate) struct Policy {
    pub(crate) basis: Basis,
    pub(crate) validations: Vec<Validation>,
}

/// One validation of a policy.
pub(crate) struct Validation {
    pub(crate) source: String,
    /// The expression, or why it does not compile.
    pub(crate) program: Result<Program, String>,
    pub(crate) message: String,
    pub(crate) message_program: Option<Program>,
    pub(crate) reason: String,
}

impl Policy {
    /// Compiles the policies that have a binding.
    pub(crate) fn all(policies: &[Value], bindings: &[Value]) -> Vec<Self> {
        Basis::all(policies, bindings, Self::of)
    }

    fn of(policy: &Value, basis: Basis, environment: &Environment) -> Self {
        let compile = |value: &Value, expected| {
            Program::compile(value.as_str().unwrap_or_default(), environment, expected)
        };
        let validations = policy["spec"]["validations"].as_array().into_iter().flatten();
        let validations = validations.map(|validation| Validation {
            source: text(&validation["expression"]).trim().to_owned(),
            program: compile(&validation["expression"], Expected::Boolean),
            message: text(&validation["message"]).trim().to_owned(),
            // Without it, there is still the message.
            message_program: compile(&validation["messageExpression"], Expected::Text).ok(),
            reason: text(&validation["reason"]),
        });
        Self { validations: validations.collect(), basis }
    }
}
