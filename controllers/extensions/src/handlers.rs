//! The handlers of all extensions: a view of the ExtensionConfigs, so that a restart and a deletion need nothing else.

use std::sync::Arc;

use engine::object::is_deleting;
use engine::{NamespacedName, Objects, selector};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemas::runtime::{ExtensionConfig, ExtensionHandler};

use crate::error::{Error, Result};
use crate::hooks::Hook;
use crate::limits::TIMEOUT_SECONDS;
use crate::names::{DEFAULT_TIMEOUT_SECONDS, HOOKS_VERSION, IGNORE};

/// A handler with the ExtensionConfig that it belongs to.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The ExtensionConfig.
    pub config: Arc<ExtensionConfig>,
    /// The handler, as it was discovered.
    pub handler: ExtensionHandler,
}

impl Registered {
    /// Returns the name of the handler without that of its ExtensionConfig, as the extension knows it.
    pub fn own_name(&self) -> &str {
        self.handler.name.rsplit_once('.').map_or("", |(name, _)| name)
    }

    /// Returns the limit for a call in seconds.
    pub fn timeout_seconds(&self) -> i32 {
        let seconds = self.handler.timeout_seconds.filter(|seconds| *seconds > 0);
        seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS).min(TIMEOUT_SECONDS)
    }

    /// Returns whether a call without an answer counts as a success.
    pub fn may_fail(&self) -> bool {
        self.handler.failure_policy.as_deref() == Some(IGNORE)
    }
}

/// Returns the handlers of a hook, by name.
pub fn of_hook(configs: &[Arc<ExtensionConfig>], hook: Hook) -> Vec<Registered> {
    let mut found: Vec<Registered> = configs.iter().flat_map(of_config).collect();
    found.retain(|registered| answers(&registered.handler, hook));
    found.sort_by(|a, b| a.handler.name.cmp(&b.handler.name));
    found
}

/// Returns the handler of this name.
///
/// # Errors
/// It is not registered, or answers another hook.
pub fn named(configs: &Objects<ExtensionConfig>, hook: Hook, name: &str) -> Result<Registered> {
    let missing = || Error::NotRegistered(name.to_owned());
    // The name of the ExtensionConfig is part of the handler's, so that nobody can register the handler of another one.
    let (_, config) = name.rsplit_once('.').ok_or_else(missing)?;
    let config = configs.get(&NamespacedName::new("", config)).ok_or_else(missing)?;
    let found = of_config(&config).find(|registered| registered.handler.name == name).ok_or_else(missing)?;
    if answers(&found.handler, hook) {
        return Ok(found);
    }
    let (handler, found) = (name.to_owned(), found.handler.request_hook.hook.clone());
    Err(Error::OtherHook { handler, found, wanted: hook.name() })
}

/// Returns whether an ExtensionConfig selects a namespace. An empty selector selects all.
///
/// # Errors
/// The namespace does not exist.
pub async fn selects(
    config: &ExtensionConfig,
    namespaces: impl Fn() -> Objects<Namespace>,
    namespace: &str,
) -> Result<bool> {
    let Some(selector) = config.spec.namespace_selector.as_ref().filter(|selector| !is_empty(selector))
    else {
        return Ok(true);
    };
    let namespaces = namespaces();
    namespaces.wait_until_synced().await;
    let found = namespaces.get(&NamespacedName::new("", namespace));
    let found = found.ok_or_else(|| Error::NoNamespace(namespace.to_owned()))?;
    Ok(selector::matches(selector, found.metadata.labels.as_ref()))
}

fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty())
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// Returns the handlers of an ExtensionConfig that is not being deleted.
fn of_config(config: &Arc<ExtensionConfig>) -> impl Iterator<Item = Registered> + '_ {
    let suffix = format!(".{}", config.metadata.name.as_deref().unwrap_or_default());
    let handlers = config.status.iter().flat_map(|status| &status.handlers);
    let own =
        handlers.filter(move |handler| !is_deleting(config.as_ref()) && handler.name.ends_with(&suffix));
    own.map(|handler| Registered { config: config.clone(), handler: handler.clone() })
}

fn answers(handler: &ExtensionHandler, hook: Hook) -> bool {
    handler.request_hook.hook == hook.name() && handler.request_hook.api_version == HOOKS_VERSION
}
