//! Compiled ValidatingAdmissionPolicies and their bindings.

use cel::program::{Environment, Expected, Program};
use kinds::admission::POLICY_VARIABLES;
use serde_json::Value;

use super::conditions::Conditions;
use super::matcher::Matcher;

/// A policy with at least one binding.
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) matcher: Matcher,
    pub(crate) conditions: Conditions,
    /// Whether the request passes if an evaluation fails (`failurePolicy: Ignore`).
    pub(crate) ignore: bool,
    /// Group, version and kind of the parameters.
    pub(crate) param_kind: Option<(String, String, String)>,
    /// The variables, and why one does not compile.
    pub(crate) variables: Vec<(String, Result<Program, String>)>,
    pub(crate) validations: Vec<Validation>,
    pub(crate) bindings: Vec<Binding>,
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

/// A binding: the requests to which the policy applies, and the actions if a validation is false.
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) deny: bool,
    pub(crate) warn: bool,
    /// The `paramRef`, or null if there is none.
    pub(crate) params: Value,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Policy {
    /// Compiles the policies that have a binding.
    pub(crate) fn all(policies: &[Value], bindings: &[Value]) -> Vec<Self> {
        let bound = |policy: &Value| -> Vec<Binding> {
            let name = &policy["metadata"]["name"];
            bindings.iter().filter(|one| one["spec"]["policyName"] == *name).map(Binding::of).collect()
        };
        let policies = policies.iter().map(|policy| (policy, bound(policy)));
        policies
            .filter(|(_, bound)| !bound.is_empty())
            .map(|(policy, bound)| Self::of(policy, bound))
            .collect()
    }

    fn of(policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = &policy["spec"];
        let mut environment = Environment::new(&POLICY_VARIABLES);
        let conditions = Conditions::of(spec, &environment);
        let list = |name: &str| spec[name].as_array().into_iter().flatten();
        // A policy with an expression that does not compile is refused when it is written. One that was stored by a server whose checker
        // accepted it must not let everything pass, so the error is kept, and is that of each evaluation.
        let mut variables = Vec::new();
        for variable in list("variables") {
            let (name, source) = (text(&variable["name"]), text(&variable["expression"]));
            let program = Program::define(&name, &source, &mut environment);
            variables.push((name, program));
        }
        let compile = |value: &Value, expected| {
            Program::compile(value.as_str().unwrap_or_default(), &environment, expected)
        };
        let validations = list("validations").map(|validation| Validation {
            source: text(&validation["expression"]).trim().to_owned(),
            program: compile(&validation["expression"], Expected::Boolean),
            message: text(&validation["message"]).trim().to_owned(),
            // Without it, there is still the message.
            message_program: compile(&validation["messageExpression"], Expected::Text).ok(),
            reason: text(&validation["reason"]),
        });
        let param_kind = spec["paramKind"].is_object().then(|| {
            let api_version = text(&spec["paramKind"]["apiVersion"]);
            let (group, version) = machinery::meta::group_version(&api_version);
            (group.to_owned(), version.to_owned(), text(&spec["paramKind"]["kind"]))
        });
        Self {
            name: text(&policy["metadata"]["name"]),
            matcher: Matcher::of_resources(&spec["matchConstraints"], false),
            conditions,
            ignore: spec["failurePolicy"] == "Ignore",
            param_kind,
            validations: validations.collect(),
            variables,
            bindings,
        }
    }
}

impl Binding {
    fn of(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let actions = spec["validationActions"].as_array();
        let has = |action: &str| actions.is_some_and(|list| list.iter().any(|one| one == action));
        let resources = &spec["matchResources"];
        Self {
            name: text(&binding["metadata"]["name"]),
            matcher: resources.is_object().then(|| Matcher::of_resources(resources, true)),
            deny: has("Deny"),
            warn: has("Warn"),
            params: spec["paramRef"].clone(),
        }
    }
}
