//! The rules of ExtensionConfigs.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use engine::conditions;
use engine::v1beta1::{self, Severity};
use machinery::names::dns1123_label;
use schemas::runtime::{ExtensionConfig, ExtensionHandler, GroupVersionHook};

use super::observed::Observed;
use crate::answers::{Discovered, Handler, cut};
use crate::hooks::Hook;
use crate::limits::{HANDLERS, TIMEOUT_SECONDS};
use crate::names::{
    DEFAULT_TIMEOUT_SECONDS, DISCOVERED, DISCOVERED_V1BETA1, DISCOVERY_FAILED_V1BETA1, FAIL, HOOKS_VERSION,
    IGNORE, NOT_DISCOVERED,
};

/// What to do about an ExtensionConfig.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The ExtensionConfig as it should be.
    pub wanted: ExtensionConfig,
    /// Why the extension must be asked again soon.
    pub failure: Option<String>,
}

/// Computes the plan. After a failure, the handlers that are known stay.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.config.as_ref().clone();
    let handlers = match (&observed.authority, &observed.discovered) {
        (Some(Err(why)), _) => Err(format!("caBundle: {why}")),
        (Some(Ok(bundle)), None) => {
            // The extension is asked in the reconcile that this change triggers.
            wanted.spec.client_config.ca_bundle = Some(bundle.clone());
            return Plan { wanted, failure: None };
        }
        (None, None) => return Plan { wanted, failure: None },
        (_, Some(Err(why))) => Err(why.clone()),
        (_, Some(Ok(discovered))) => handlers(&wanted, discovered),
    };
    let failure = handlers.as_ref().err().map(|why| format!("Error in discovery: {why}"));
    if let Ok(handlers) = handlers {
        wanted.status.get_or_insert_default().handlers = handlers;
    }
    report(&mut wanted, failure.as_deref(), now);
    Plan { wanted, failure }
}

fn report(wanted: &mut ExtensionConfig, failure: Option<&str>, now: DateTime<Utc>) {
    let (condition, older) = match failure {
        None => (conditions::is_true(DISCOVERED, DISCOVERED), v1beta1::is_true(DISCOVERED_V1BETA1)),
        Some(why) => (
            conditions::is_false(DISCOVERED, NOT_DISCOVERED, why),
            v1beta1::is_false(DISCOVERED_V1BETA1, Severity::Error, DISCOVERY_FAILED_V1BETA1, why),
        ),
    };
    conditions::set(wanted, now, condition);
    let status = wanted.status.get_or_insert_default();
    let deprecated = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    v1beta1::set(&mut deprecated.conditions, now, older);
}

/// Returns the handlers for the status, by name: an extension may name them in another order each time.
///
/// # Errors
/// All that is wrong with them.
fn handlers(config: &ExtensionConfig, discovered: &Discovered) -> Result<Vec<ExtensionHandler>, String> {
    let found = discovered.handlers.as_deref().unwrap_or_default();
    if found.len() > HANDLERS {
        return Err(format!("the extension has {} handlers; there can be {HANDLERS}", found.len()));
    }
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for handler in found {
        if !names.insert(handler.name.as_str()) {
            problems.push(format!("there are several handlers {:?}", handler.name));
        }
        problems.extend(problems_of(handler));
    }
    if !problems.is_empty() {
        return Err(cut(problems.join("; ")));
    }
    let suffix = config.metadata.name.as_deref().unwrap_or_default();
    let mut handlers: Vec<ExtensionHandler> =
        found.iter().map(|handler| registered(handler, suffix)).collect();
    handlers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(handlers)
}

/// Returns what is wrong with a handler.
fn problems_of(handler: &Handler) -> Vec<String> {
    let Handler { name, request_hook, timeout_seconds, failure_policy } = handler;
    let mut problems: Vec<String> = dns1123_label(name)
        .into_iter()
        .map(|problem| format!("the handler name {name:?} is not valid: {problem}"))
        .collect();
    if let Some(seconds) = timeout_seconds.filter(|seconds| !(0..=TIMEOUT_SECONDS).contains(seconds)) {
        problems.push(format!(
            "handler {name:?}: timeoutSeconds must be between 0 and {TIMEOUT_SECONDS}, but is {seconds}"
        ));
    }
    if let Some(policy) = failure_policy.as_deref().filter(|policy| ![FAIL, IGNORE].contains(policy)) {
        problems.push(format!("handler {name:?}: failurePolicy must be {FAIL} or {IGNORE}, not {policy:?}"));
    }
    if request_hook.api_version != HOOKS_VERSION || Hook::named(&request_hook.hook).is_none() {
        let (version, hook) = (&request_hook.api_version, &request_hook.hook);
        problems.push(format!("handler {name:?}: there is no hook {hook:?} in {version:?}"));
    }
    problems
}

fn registered(handler: &Handler, suffix: &str) -> ExtensionHandler {
    let seconds = handler.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    ExtensionHandler {
        failure_policy: Some(handler.failure_policy.clone().unwrap_or_else(|| FAIL.to_owned())),
        name: format!("{}.{suffix}", handler.name),
        request_hook: GroupVersionHook {
            api_version: handler.request_hook.api_version.clone(),
            hook: handler.request_hook.hook.clone(),
        },
        // 0 is the default, too, and the schema has no 0.
        timeout_seconds: Some(seconds).filter(|seconds| *seconds > 0),
    }
}
