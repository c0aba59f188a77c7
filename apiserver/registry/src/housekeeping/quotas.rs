//! Counts what is used of quotas, when a quota is new, and when objects go.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use kinds::charge::Count;
use kinds::counted::Counted;
use machinery::status::Status;
use serde_json::Value;
use store::{Event, EventKind};
use tokio::time::Instant;

use super::edit::MANAGER;
use super::part::Part;
use super::retries::Retries;
use crate::aside::Aside;
use crate::storage::keys;
use crate::versions::definitions::CRDS;
use crate::write::charge::set_status;
use crate::write::writes::Writes;

const QUOTAS: &str = "/registry/core/resourcequotas/";
/// The time after which a quota is counted again that has changed: what it was charged for can have failed.
const AGAIN: Duration = Duration::from_secs(300);
/// How often a quota is counted that is charged at the same time.
const ATTEMPTS: usize = 10;

/// The task, with the quotas of each namespace.
#[derive(Default)]
pub(crate) struct Counting {
    /// The keys of the quotas by namespace.
    quotas: HashMap<String, BTreeSet<String>>,
    queue: Retries,
    /// When to count a quota again, by its key.
    again: BTreeMap<String, Instant>,
}

impl Counting {
    pub(crate) fn new(writes: &Writes) -> Self {
        let mut counting = Self::default();
        for stored in writes.storage().range(QUOTAS).0 {
            counting.insert(stored.key.namespace().unwrap_or_default(), stored.key.as_str());
        }
        counting
    }

    fn insert(&mut self, namespace: &str, key: &str) {
        self.quotas.entry(namespace.to_owned()).or_default().insert(key.to_owned());
        self.queue.insert(key.to_owned());
    }

    fn observe_quota(&mut self, writes: &Writes, event: &Event) {
        let key = event.key();
        let (namespace, text) = (key.namespace().unwrap_or_default(), key.as_str());
        if event.kind == EventKind::Deleted {
            self.again.remove(text);
            if let Some(keys) = self.quotas.get_mut(namespace) {
                keys.remove(text);
                if keys.is_empty() {
                    self.quotas.remove(namespace);
                }
            }
            return;
        }
        let quota: Value = machinery::decode::own(&event.object.value).unwrap_or_default();
        if event.kind == EventKind::Added || quota["spec"]["hard"] != quota["status"]["hard"] {
            self.insert(namespace, text);
        } else {
            self.again.insert(text.to_owned(), writes.clock().monotonic() + AGAIN);
        }
    }
}

/// Returns whether less can be used after a change.
fn gives_back(event: &Event) -> bool {
    if event.kind == EventKind::Deleted {
        return true;
    }
    let key = event.key();
    if event.kind != EventKind::Modified || !key.group().is_empty() {
        return false;
    }
    match key.resource() {
        "services" | "persistentvolumeclaims" => true,
        "pods" => {
            let pod: Value = machinery::decode::own(&event.object.value).unwrap_or_default();
            matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"))
        }
        _ => false,
    }
}

impl Part for Counting {
    fn observe(&mut self, writes: &Writes, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == ("", "resourcequotas") {
            self.observe_quota(writes, event);
        }
        if (key.group(), key.resource()) == CRDS {
            self.queue.extend(self.quotas.values().flatten().cloned());
        }
        let Some(quotas) = self.quotas.get(key.namespace().unwrap_or_default()) else { return };
        if gives_back(event) {
            self.queue.extend(quotas.iter().cloned());
        } else if (key.group(), key.resource()) == ("", "pods") && event.kind == EventKind::Modified {
            let at = writes.clock().monotonic() + AGAIN;
            for quota in quotas {
                self.again.entry(quota.clone()).or_insert(at);
            }
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        let now = writes.clock().monotonic();
        let due: Vec<String> =
            self.again.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.again.remove(&key);
            self.queue.insert(key);
        }
        for key in self.queue.take(writes) {
            let (_, _, namespace, name) = keys::split(&key);
            let counted = count(writes, namespace, name).await;
            if let Some(status) = self.queue.ended(writes, &key, counted) {
                tracing::warn!(namespace, name, %status, "what is used of a quota could not be written");
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.again.values().copied().chain(self.queue.again_at()).min()
    }
}

/// Counts what is used of a quota, and writes it.
async fn count(writes: &Writes, namespace: &str, name: &str) -> Result<(), Status> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        let quota = writes.versions().reader().stored_object("", "resourcequotas", namespace, name);
        let Some(quota) = quota else { return Ok(()) };
        let Some(status) = used(writes, namespace, &quota).await else { return Ok(()) };
        last = set_status(writes, MANAGER, &quota, status).await;
        if !last.as_ref().is_err_and(|status| status.reason == "Conflict") {
            break;
        }
    }
    last
}

/// Returns the status that a quota has to have; `None` if it has it.
async fn used(writes: &Writes, namespace: &str, quota: &Value) -> Option<Value> {
    let definitions = writes.versions().definitions();
    let mut count = Count::new(quota);
    for definition in definitions.iter().filter(|one| one.namespaced && !one.verbs.is_empty()) {
        let counted = Counted::new(&definition.group, &definition.plural);
        let Some(counted) = counted.filter(|counted| count.includes(*counted)) else { continue };
        let prefix = keys::namespace(definition, namespace);
        if !counted.differs() {
            count.number(counted, writes.storage().count(&prefix));
            continue;
        }
        let (stored, _) = writes.storage().range(&prefix);
        let bytes = stored.iter().map(|stored| stored.value.len()).sum();
        let read = async move {
            stored.iter().filter_map(|stored| machinery::decode::own(&stored.value).ok()).collect()
        };
        let objects: Vec<Value> = Aside::default().perform(bytes, read).await.ok()?;
        count.objects(counted, &objects, writes.clock().now());
    }
    count.status()
}
