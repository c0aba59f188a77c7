//! A cache of answers: the variables that an extension defines. Many classes ask for the same ones.

use machinery::cache::Expiring;
use machinery::hash::fnv1a_64;
use serde_json::Value;

use crate::handlers::Registered;
use crate::hooks::Hook;
use crate::limits::{KEPT_ANSWERS, KEPT_FOR};

/// What an answer depends on: the handler, the version of its ExtensionConfig, and the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    handler: String,
    config: (String, String),
    request: (u64, usize),
}

impl Key {
    /// Returns the key of a request, if its answer is cached.
    pub(crate) fn of(hook: Hook, registered: &Registered, request: &[u8]) -> Option<Self> {
        let metadata = &registered.config.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (hook == Hook::DiscoverVariables).then(|| Self {
            handler: registered.handler.name.clone(),
            config: (text(&metadata.uid), text(&metadata.resource_version)),
            request: (fnv1a_64(request), request.len()),
        })
    }
}

/// A cache of answers.
pub(crate) type AnswerCache = Expiring<Key, Value>;

/// Creates a cache without answers.
pub(crate) fn none() -> AnswerCache {
    Expiring::new(KEPT_ANSWERS, KEPT_FOR)
}
