//! Answers that are kept for a while: the variables that an extension defines. Many classes ask for the same ones.

use std::collections::BTreeMap;

use machinery::hash::fnv1a_64;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::handlers::Registered;
use crate::hooks::Hook;
use crate::limits::{KEPT_ANSWERS, KEPT_FOR};

/// What an answer depends on: the handler, the version of its ExtensionConfig, and the request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    handler: String,
    config: (String, String),
    request: (u64, usize),
}

impl Key {
    /// Returns the key of a request, if its answer is kept.
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

/// The kept answers, each with the time at which it is forgotten, on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<BTreeMap<Key, (Instant, Value)>>);

impl Kept {
    pub(crate) fn get(&self, key: &Key, now: Instant) -> Option<Value> {
        let kept = self.0.lock();
        kept.get(key).filter(|(until, _)| *until > now).map(|(_, answer)| answer.clone())
    }

    pub(crate) fn keep(&self, key: Key, answer: Value, now: Instant) {
        let mut kept = self.0.lock();
        kept.retain(|_, (until, _)| *until > now);
        if kept.len() >= KEPT_ANSWERS {
            kept.clear();
        }
        kept.insert(key, (now + KEPT_FOR, answer));
    }
}
