//! Evaluation of MutatingAdmissionPolicies.

use std::collections::BTreeSet;
use std::sync::Arc;

use kinds::definition::Version;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use super::attributes::Attributes;
use super::basis::Binding;
use super::case::Cases;
use super::mutation::{self, Failure};
use super::mutator::Mutator;
use super::params::{self, Allowance};
use super::review::Operation;
use crate::versions::current::Versions;

/// A policy, a binding and the namespace and name of parameters.
type Key = [String; 4];

/// What the policies have done in the rounds of one request.
#[derive(Default)]
pub(crate) struct Rounds {
    is_second: bool,
    /// The policies that may be evaluated again, and those that must be, because the object has changed since.
    evaluated: BTreeSet<Key>,
    again: BTreeSet<Key>,
    /// The object after the first round.
    last: Option<Value>,
    /// Whether the object has been patched, so that there is a second round.
    pub(crate) changed: bool,
}

impl Rounds {
    /// Begins the second round, with the object as webhooks and plugins have changed it.
    pub(crate) fn begin_second(&mut self, object: &Value) {
        self.is_second = true;
        if self.last.as_ref() != Some(object) {
            self.repeat();
        }
    }

    /// Lets all be evaluated again that may be.
    fn repeat(&mut self) {
        self.again.append(&mut self.evaluated);
    }
}

/// A policy that is to be evaluated with one parameter object.
struct Invocation<'p> {
    policy: &'p Mutator,
    binding: &'p Binding,
    version: Arc<Version>,
    params: Value,
}

impl Invocation<'_> {
    fn key(&self) -> Key {
        let name = |name: &str| name.to_owned();
        [
            name(&self.policy.basis.name),
            name(&self.binding.name),
            name(meta::namespace(&self.params)),
            name(meta::name(&self.params)),
        ]
    }
}

/// Collects the errors of policies that do not ignore theirs.
#[derive(Default)]
struct Errors {
    messages: Vec<String>,
    reason: Option<&'static str>,
}

impl Errors {
    fn add(&mut self, policy: &Mutator, binding: Option<&Binding>, reason: &'static str, why: &str) {
        let name = &policy.basis.name;
        if policy.basis.ignore {
            // What has failed can contain values of the object, which can be a Secret.
            let binding = binding.map(|binding| binding.name.as_str());
            tracing::debug!(policy = name, binding, reason, "a policy failed and is ignored");
            return;
        }
        self.reason.get_or_insert(reason);
        self.messages.push(match binding {
            Some(binding) => format!("policy '{name}' with binding '{}' denied request: {why}", binding.name),
            None => format!("policy {name:?} denied request: {why}"),
        });
    }
}

/// The reason of errors of the configuration.
const MISCONFIGURED: &str = "Forbidden";
/// The reason of errors of expressions and of what they make.
const FAILED: &str = "Invalid";

/// Evaluates the policies that match the request, one after the other, each with the object as the previous ones changed it.
///
/// # Errors
/// The refusal that the client gets.
pub(crate) async fn mutate(
    versions: &Versions,
    policies: &[Mutator],
    attributes: &Attributes<'_>,
    object: &mut Value,
    rounds: &mut Rounds,
) -> Result<(), Status> {
    // A deletion has no object.
    if policies.is_empty() || attributes.operation == Operation::Delete {
        return Ok(());
    }
    let (mut errors, mut cases) = (Errors::default(), Cases::default());
    let invocations = invocations(versions, policies, attributes, object, &mut cases, &mut errors).await;
    if !invocations.is_empty() {
        let resource = machinery::status::GroupResource { group: "", resource: "namespaces" };
        let missing = || Status::not_found(resource, attributes.target.namespace);
        let namespace = attributes.namespace_object(versions).ok_or_else(missing)?;
        let mut patched = false;
        for invocation in &invocations {
            let mut state = State { object, cases: &mut cases, rounds, errors: &mut errors };
            patched |= invoke(versions, invocation, attributes, &namespace, &mut state).await?;
        }
        // As in kube-apiserver, a patch counts as a change here, even if it changes nothing.
        if patched {
            rounds.repeat();
            rounds.changed = true;
        }
        rounds.last = Some(object.clone());
    }
    let Some(reason) = errors.reason else { return Ok(()) };
    let mut status = attributes.denied(object, &errors.messages);
    status.reason = reason;
    status.message = errors.messages.swap_remove(0);
    Err(status)
}

/// Returns what is to be evaluated. Rules and selectors are asked before any policy changes the object.
async fn invocations<'p>(
    versions: &Versions,
    policies: &'p [Mutator],
    attributes: &Attributes<'_>,
    object: &Value,
    cases: &mut Cases,
    errors: &mut Errors,
) -> Vec<Invocation<'p>> {
    let (mut found, mut allowance) = (Vec::new(), Allowance::default());
    let namespace = attributes.namespace_of(object);
    for policy in policies {
        let mut failed = |binding, why: &str| errors.add(policy, binding, MISCONFIGURED, why);
        let (version, kind) = match params::matched(versions, &policy.basis, attributes, object) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                failed(None, &why);
                continue;
            }
        };
        for binding in &policy.basis.bindings {
            match params::binds(versions, binding, attributes, object) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    failed(Some(binding), &why);
                    continue;
                }
            }
            if let Err(status) = cases.of(versions, attributes, object, &version).await {
                failed(None, &params::unusable(&status.message));
                continue;
            }
            let (basis, kind) = (&policy.basis, kind.as_deref());
            match params::bound(versions, basis, kind, binding, namespace, &mut allowance).await {
                Ok(all) => found.extend(all.into_iter().map(|params| Invocation {
                    policy,
                    binding,
                    version: version.clone(),
                    params,
                })),
                Err(why) => failed(Some(binding), &why),
            }
        }
    }
    found
}

/// What policies change while they are evaluated.
struct State<'m> {
    object: &'m mut Value,
    cases: &'m mut Cases,
    rounds: &'m mut Rounds,
    errors: &'m mut Errors,
}

/// Evaluates a policy and changes the object. Returns whether it has patched the object.
async fn invoke(
    versions: &Versions,
    invocation: &Invocation<'_>,
    attributes: &Attributes<'_>,
    namespace: &Value,
    state: &mut State<'_>,
) -> Result<bool, Status> {
    let Invocation { policy, binding, version, params } = invocation;
    let State { object, cases, rounds, errors } = state;
    let case = cases.of(versions, attributes, object, version).await.map_err(mutation::unconverted)?;
    // As in kube-apiserver, conditions do not know the namespace.
    match policy.basis.conditions.hold(&case.input(attributes, params, &Value::Null)) {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(why) => {
            errors.add(policy, Some(binding), FAILED, &why);
            return Ok(false);
        }
    }
    let key = invocation.key();
    if rounds.is_second && !rounds.again.contains(&key) {
        return Ok(false);
    }
    let before = case.object.clone();
    let mut patched = false;
    let mut spent = 0;
    for mutation in &policy.mutations {
        let made = {
            let input = case.input(attributes, params, namespace).continuing(spent);
            let made = mutation::evaluate(mutation, &policy.basis.variables, &input, &case.object);
            spent = input.spent();
            made
        };
        let done = match made {
            Ok(made) => mutation::applied(versions, attributes, version, &case.object, made).await,
            Err(why) => Err(Failure::Error(why)),
        };
        match done {
            Ok(object) => {
                case.object = object;
                patched = true;
            }
            Err(Failure::Error(why)) => errors.add(policy, Some(binding), FAILED, &why),
            Err(Failure::Refusal(status)) => return Err(status),
        }
    }
    if case.object != before {
        let mutated = case.object.take();
        cases.clear();
        **object = mutation::requested(versions, attributes, object, mutated).await?;
        rounds.repeat();
        rounds.changed = true;
    }
    if policy.again {
        rounds.evaluated.insert(key);
    }
    Ok(patched)
}
