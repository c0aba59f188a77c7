//! What validating and mutating policies have in common: the requests that they are for, what their expressions know, and their bindings.

use cel::program::{Environment, Program};
use kinds::admission::POLICY_VARIABLES;
use machinery::meta;
use serde_json::Value;

use super::conditions::Conditions;
use super::matcher::Matcher;

/// A policy with at least one binding, without what it does.
pub(crate) struct Basis {
    pub(crate) name: String,
    pub(crate) matcher: Matcher,
    pub(crate) conditions: Conditions,
    /// Whether the request passes if an evaluation fails (`failurePolicy: Ignore`).
    pub(crate) ignore: bool,
    /// Group, version and kind of the parameters.
    pub(crate) param_kind: Option<(String, String, String)>,
    /// The variables, and why one does not compile.
    pub(crate) variables: Vec<(String, Result<Program, String>)>,
    pub(crate) bindings: Vec<Binding>,
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

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Basis {
    /// Compiles the policies that have a binding, each with `of`, which gets the policy, its basis and the environment of its expressions.
    ///
    /// A policy with an expression that does not compile is refused when it is written. One that was stored by a server whose checker
    /// accepted it must not let everything pass, so the error is kept, and is that of each evaluation.
    pub(crate) fn all<P>(
        policies: &[Value],
        bindings: &[Value],
        of: impl Fn(&Value, Self, &Environment) -> P,
    ) -> Vec<P> {
        let mut compiled = Vec::new();
        for policy in policies {
            let name = &policy["metadata"]["name"];
            let bound: Vec<Binding> =
                bindings.iter().filter(|one| one["spec"]["policyName"] == *name).map(Binding::of).collect();
            if !bound.is_empty() {
                let mut environment = Environment::new(&POLICY_VARIABLES);
                let basis = Self::of(policy, bound, &mut environment);
                compiled.push(of(policy, basis, &environment));
            }
        }
        compiled
    }

    fn of(policy: &Value, bindings: Vec<Binding>, environment: &mut Environment) -> Self {
        let spec = &policy["spec"];
        let conditions = Conditions::of(spec, environment);
        let mut variables = Vec::new();
        for variable in spec["variables"].as_array().into_iter().flatten() {
            let (name, source) = (text(&variable["name"]), text(&variable["expression"]));
            let program = Program::define(&name, &source, environment);
            variables.push((name, program));
        }
        let param_kind = spec["paramKind"].is_object().then(|| {
            let api_version = text(&spec["paramKind"]["apiVersion"]);
            let (group, version) = meta::group_version(&api_version);
            (group.to_owned(), version.to_owned(), text(&spec["paramKind"]["kind"]))
        });
        Self {
            name: text(&policy["metadata"]["name"]),
            matcher: Matcher::of_resources(&spec["matchConstraints"], false),
            conditions,
            ignore: spec["failurePolicy"] == "Ignore",
            param_kind,
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
