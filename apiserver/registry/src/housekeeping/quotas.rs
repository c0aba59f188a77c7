//! Counts what is used of quotas, when a quota is new, and when objects go.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kinds::charge::Count;
use kinds::counted::Counted;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};
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
/// The time after which a changed quota is counted again: a write that it was charged for may have failed.
const AGAIN: Duration = Duration::from_secs(300);
/// The time after which a quota is counted of which something was given back. Objects go in masses, and each count looks at all of them.
const SOON: Duration = Duration::from_secs(1);
/// How often a quota is counted that is charged at the same time.
const ATTEMPTS: usize = 10;

/// The task, with the quotas of each namespace.
#[derive(Default)]
pub(crate) struct Counting {
    /// The resources that each quota limits, by its namespace and key.
    quotas: HashMap<String, BTreeMap<String, Vec<String>>>,
    queue: Retries,
    /// When to count a quota again, by its key.
    again: BTreeMap<String, Instant>,
}

impl Counting {
    pub(crate) fn new(writes: &Writes) -> Self {
        let mut counting = Self::default();
        for stored in writes.storage().range(QUOTAS).0 {
            let quota: Value = machinery::decode::own(&stored.value).unwrap_or_default();
            counting.know(stored.key.namespace().unwrap_or_default(), stored.key.as_str(), &quota);
            counting.queue.insert(stored.key.as_str().to_owned());
        }
        counting
    }

    fn know(&mut self, namespace: &str, key: &str, quota: &Value) {
        let limited = quota["spec"]["hard"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
        self.quotas.entry(namespace.to_owned()).or_default().insert(key.to_owned(), limited.collect());
    }

    /// Has a quota counted at a time, unless it is counted earlier.
    fn count_at(&mut self, key: &str, at: Instant) {
        self.again.entry(key.to_owned()).and_modify(|known| *known = at.min(*known)).or_insert(at);
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
        self.know(namespace, text, &quota);
        if event.kind == EventKind::Added || quota["spec"]["hard"] != quota["status"]["hard"] {
            self.queue.insert(text.to_owned());
        } else {
            self.count_at(text, writes.clock().monotonic() + AGAIN);
        }
    }
}

/// Returns whether less can be used after a change.
fn gives_back(event: &Event) -> bool {
    if event.kind == EventKind::Deleted {
        return true;
    }
    let (key, Some(prev)) = (event.key(), &event.prev) else { return false };
    if !key.group().is_empty() || !matches!(key.resource(), "pods" | "services" | "persistentvolumeclaims") {
        return false;
    }
    let facts = |bytes: &[u8]| facts(key.resource(), &machinery::decode::own(bytes).unwrap_or_default());
    facts(&prev.value) != facts(&event.object.value)
}

/// Returns on what it depends how much an object uses.
fn facts(resource: &str, object: &Value) -> Value {
    let (spec, status) = (&object["spec"], &object["status"]);
    match resource {
        "pods" => {
            let containers = |field: &str| {
                let each = status[field].as_array().into_iter().flatten();
                each.map(|one| json!([one["name"], one["resources"], one["allocatedResources"]])).collect()
            };
            let containers: [Vec<Value>; 2] = ["containerStatuses", "initContainerStatuses"].map(containers);
            let has_ended = matches!(status["phase"].as_str(), Some("Failed" | "Succeeded"));
            json!([has_ended, spec["activeDeadlineSeconds"], containers])
        }
        "services" => json!([spec["type"], spec["ports"], spec["allocateLoadBalancerNodePorts"]]),
        _ => json!([spec["resources"], status["allocatedResources"]]),
    }
}

impl Part for Counting {
    fn observe(&mut self, writes: &Writes, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == ("", "resourcequotas") {
            self.observe_quota(writes, event);
        }
        if (key.group(), key.resource()) == CRDS {
            self.queue.extend(self.quotas.values().flat_map(BTreeMap::keys).cloned());
        }
        let Some(quotas) = self.quotas.get(key.namespace().unwrap_or_default()) else { return };
        let Some(counted) = Counted::new(key.group(), key.resource()) else { return };
        let counts = |limited: &Vec<String>| limited.iter().any(|name| counted.uses(name));
        let concerned = quotas.iter().filter(|(_, limited)| counts(limited));
        let concerned: Vec<String> = concerned.map(|(key, _)| key.clone()).collect();
        if !concerned.is_empty() && gives_back(event) {
            let at = writes.clock().monotonic() + SOON;
            concerned.iter().for_each(|key| self.count_at(key, at));
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
            if matches!(counted, Ok(true)) {
                self.count_at(&key, now + AGAIN);
            }
            if let Some(status) = self.queue.ended(writes, &key, counted.map(drop)) {
                tracing::warn!(namespace, name, %status, "what is used of a quota could not be written");
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.again.values().copied().chain(self.queue.again_at()).min()
    }
}

/// Counts what is used of a quota, and writes it. Returns whether that changes without a change of an object: when pods outlive their
/// deletion.
async fn count(writes: &Writes, namespace: &str, name: &str) -> Result<bool, Status> {
    let _turn = writes.quota_turns().wait(namespace).await;
    let mut last = Ok(false);
    for _ in 0..ATTEMPTS {
        let quota = writes.versions().reader().stored_object("", "resourcequotas", namespace, name);
        let Some(quota) = quota else { return Ok(false) };
        let (status, changes) = used(writes, namespace, &quota).await?;
        let Some(status) = status else { return Ok(changes) };
        last = set_status(writes, MANAGER, &quota, status).await.map(|()| changes);
        if !last.as_ref().is_err_and(|status| status.reason == "Conflict") {
            break;
        }
    }
    last
}

/// Returns the status that a quota has to have, `None` if it has it, and whether pods are counted that are being deleted.
async fn used(writes: &Writes, namespace: &str, quota: &Value) -> Result<(Option<Value>, bool), Status> {
    let definitions = writes.versions().definitions();
    let (mut count, mut is_deleting) = (Count::new(quota), false);
    let now = writes.clock().now();
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
        let adding = async {
            let objects = stored.iter().filter_map(|stored| machinery::decode::own(&stored.value).ok());
            count.objects(counted, objects.inspect(|object| is_deleting |= meta::is_deleting(object)), now);
        };
        Aside::default().perform(bytes, adding).await?;
    }
    Ok((count.status(), is_deleting))
}
