//! Compiled MutatingAdmissionPolicies.

use cel::program::{Environment, Expected, Program};
use serde_json::Value;

use super::basis::{Basis, text};

/// A policy that changes objects.
pub(crate) struct Mutator {
    pub(crate) basis: Basis,
    pub(crate) mutations: Vec<Mutation>,
    /// Whether it is evaluated again if others have changed the object (`reinvocationPolicy: IfNeeded`).
    pub(crate) again: bool,
}

/// One change of a policy.
pub(crate) struct Mutation {
    pub(crate) kind: PatchKind,
    pub(crate) source: String,
    /// The expression, or why it does not compile.
    pub(crate) program: Result<Program, String>,
}

/// What the expression of a mutation makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// An object that is merged into that of the request.
    Configuration,
    /// The operations of a JSON patch.
    Operations,
}

impl Mutator {
    /// Compiles the policies that have a binding.
    pub(crate) fn all(policies: &[Value], bindings: &[Value]) -> Vec<Self> {
        Basis::all(policies, bindings, Self::of)
    }

    fn of(policy: &Value, basis: Basis, environment: &Environment) -> Self {
        let spec = &policy["spec"];
        let environment = environment.patching();
        let mutations = spec["mutations"].as_array().into_iter().flatten().map(|mutation| {
            let (field, kind, expected) = match mutation["patchType"].as_str() {
                Some("JSONPatch") => ("jsonPatch", PatchKind::Operations, Expected::Operations),
                _ => ("applyConfiguration", PatchKind::Configuration, Expected::Configuration),
            };
            let source = text(&mutation[field]["expression"]);
            Mutation { kind, program: Program::compile(&source, &environment, expected), source }
        });
        Self { mutations: mutations.collect(), again: spec["reinvocationPolicy"] == "IfNeeded", basis }
    }
}
