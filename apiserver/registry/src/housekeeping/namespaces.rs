//! Default namespaces, and the deletion of the contents of terminating namespaces.

use futures::StreamExt;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kinds::Subresource;
use parking_lot::Mutex;
use serde_json::{Value, json};
use store::{Event, EventKind};
use tokio::time::Instant;

use super::part::{CONCURRENCY, Part};
use crate::context::{Context, DeleteOptions, Input, Propagation};
use crate::registry::Registry;
use crate::storage::keys;
use crate::storage::outline;
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::write::changed::{Changed, Ownership};

/// Namespaces that always exist.
const DEFAULTS: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
const MANAGER: &str = "kube-controller-manager";
/// The finalizer in `spec.finalizers` that this part removes.
const FINALIZER: &str = "kubernetes";

/// Creates the namespaces that always exist.
pub(crate) async fn create_defaults(registry: &Registry) {
    let Some(served) = registry.served("", "v1", "namespaces") else { return };
    for name in DEFAULTS {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let mut context = Context::internal("kube-apiserver");
        match registry.create(&mut context, &served, "", Input::new(object)).await {
            Err(status) if status.reason != "AlreadyExists" => {
                tracing::error!(namespace = name, %status, "a namespace could not be created");
            }
            _ => {}
        }
    }
}

/// The time after which a refused deletion is tried again: nothing says when what refuses it, in another namespace or a webhook, is gone.
const RETRY: Duration = Duration::from_secs(5);
/// The longest message of a condition in characters, as in the schema of `metav1.Condition`.
const MESSAGE_LENGTH: usize = 32_768;

/// The task that empties namespaces that are being deleted.
pub(crate) struct Emptying {
    terminating: BTreeSet<String>,
    /// Terminating namespaces that must be checked, because an object in them has changed.
    queue: BTreeSet<String>,
    /// Terminating namespaces with objects whose deletion was refused, and when it is tried again.
    refused: BTreeMap<String, Instant>,
}

impl Emptying {
    pub(crate) fn new(registry: &Registry) -> Self {
        let (namespaces, _) = registry.storage().range("/registry/core/namespaces/");
        let terminating: BTreeSet<String> = namespaces
            .iter()
            .filter(|stored| outline::of(stored).is_some_and(|outline| outline.is_deleting))
            .map(|stored| stored.key.name().to_owned())
            .collect();
        Self { queue: terminating.clone(), terminating, refused: BTreeMap::new() }
    }
}

impl Part for Emptying {
    fn observe(&mut self, _registry: &Registry, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == ("", "namespaces") {
            let name = key.name().to_owned();
            if event.kind == EventKind::Deleted {
                self.terminating.remove(&name);
                self.queue.remove(&name);
                self.refused.remove(&name);
            } else if outline::of(&event.object).is_some_and(|outline| outline.is_deleting)
                && self.terminating.insert(name.clone())
            {
                self.queue.insert(name);
            }
        } else if let Some(namespace) = key.namespace()
            && self.terminating.contains(namespace)
        {
            self.queue.insert(namespace.to_owned());
        }
    }

    async fn work(&mut self, registry: &Registry) -> bool {
        let clock = &registry.0.clock;
        let due = self.refused.iter().filter(|(_, at)| **at <= clock.monotonic());
        self.queue.extend(due.map(|(namespace, _)| namespace.clone()));
        for namespace in std::mem::take(&mut self.queue) {
            let is_new = !self.refused.contains_key(&namespace);
            match empty(registry, &namespace, is_new).await {
                Ok(Emptied::Deleted) => drop(self.refused.remove(&namespace)),
                Ok(Emptied::Refused) => drop(self.refused.insert(namespace, clock.monotonic() + RETRY)),
                Err(status) if status.reason == "NotFound" => drop(self.refused.remove(&namespace)),
                Err(status) => {
                    if is_new {
                        tracing::warn!(%namespace, %status, "a namespace could not be emptied");
                    }
                    self.refused.insert(namespace, clock.monotonic() + RETRY);
                }
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.refused.values().min().copied()
    }
}

/// The outcome of the deletion of a namespace's content.
enum Emptied {
    /// Everything is deleted, or is held by its finalizers only.
    Deleted,
    /// The deletion of an object was refused.
    Refused,
}

/// Returns the contents of a namespace: resource, name and finalizers of each object.
fn content(registry: &Registry, namespace: &str) -> Vec<(Served, String, Vec<String>)> {
    let definitions = registry.definitions();
    let mut content = Vec::new();
    for definition in definitions.iter().filter(|definition| definition.namespaced) {
        let (group, plural) = keys::home(definition);
        // Events are served by two groups but stored only once.
        if group != definition.group {
            continue;
        }
        let Some(served) = definitions.stored(group, plural) else { continue };
        let (entries, _) = registry.storage().range(&keys::namespace(definition, namespace));
        for stored in entries {
            let finalizers = outline::of(&stored).map(|outline| outline.finalizers.iter().map(str::to_owned));
            let finalizers = finalizers.into_iter().flatten().collect();
            content.push((served.clone(), stored.key.name().to_owned(), finalizers));
        }
    }
    content
}

/// Deletes the content of a namespace. `warns` says whether refusals are logged.
async fn empty(
    registry: &Registry,
    namespace: &str,
    warns: bool,
) -> Result<Emptied, machinery::status::Status> {
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let options = &options;
    let refusals = &Mutex::new(BTreeMap::new());
    futures::stream::iter(content(registry, namespace))
        .for_each_concurrent(CONCURRENCY, |(served, name, _)| async move {
            let mut context = Context::internal(MANAGER);
            let deleted = registry.delete(&mut context, &served, namespace, &name, options).await;
            let Some(status) = deleted.err().filter(|status| status.reason != "NotFound") else { return };
            if warns {
                tracing::warn!(namespace, name, %status, "an object of a deleted namespace could not be deleted");
            }
            // The order of the deletions varies, and the condition must be the same each time.
            let mut refusals = refusals.lock();
            let message = refusals.entry(type_of(&served)).or_insert_with(|| status.message.clone());
            *message = std::mem::take(message).min(status.message);
        })
        .await;
    let refusals = std::mem::take(&mut *refusals.lock());
    let emptied = if refusals.is_empty() { Emptied::Deleted } else { Emptied::Refused };
    let Some(served) = registry.served("", "v1", "namespaces") else { return Ok(emptied) };
    let target = Target { served: &served, namespace: "", name: namespace, subresource: Subresource::Status };
    let left = content(registry, namespace);
    if !left.is_empty() {
        let conditions = conditions(&left, &refusals, &registry.now());
        return change(registry, target, |object| {
            object["status"]["conditions"] = keep_times(object, &conditions)
        })
        .await
        .map(|()| emptied);
    }
    let target = Target { subresource: Subresource::Finalize, ..target };
    change(registry, target, |object| {
        // Indexing with `[]` would insert nulls for missing fields.
        if let Some(finalizers) = object.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|name| name != FINALIZER);
            if finalizers.is_empty() {
                object["spec"] = json!({});
            }
        }
    })
    .await
    .map(|()| emptied)
}

async fn change(
    registry: &Registry,
    target: Target<'_>,
    make: impl Fn(&mut Value) + Send,
) -> Result<(), machinery::status::Status> {
    let mut context = Context::internal(MANAGER);
    let changed = registry.change(&mut context, &target, |_, live| {
        let mut object = live.clone();
        make(&mut object);
        Ok(Changed { object, ownership: Ownership::Note, expected_uid: None })
    });
    changed.await.map(drop)
}

/// Keeps `lastTransitionTime` of the conditions whose status has not changed.
fn keep_times(object: &Value, conditions: &Value) -> Value {
    let mut conditions = conditions.clone();
    let before = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let same = |old: &&Value| old["type"] == condition["type"] && old["status"] == condition["status"];
        if let Some(old) = before.iter().find(same) {
            condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
        }
    }
    conditions
}

/// Returns the name of a resource as messages of the real namespace controller have it: `PLURAL.GROUP`.
fn type_of(served: &Served) -> String {
    format!("{}.{}", served.definition.plural, served.definition.group)
}

/// Returns the condition about objects that could not be deleted, in the words of the real namespace controller. `refusals` has one
/// message for each type of which an object could not be deleted.
fn content_failure(refusals: &BTreeMap<String, String>) -> (bool, &'static str, String) {
    if refusals.is_empty() {
        let message = "All content successfully deleted, may be waiting on finalization";
        return (false, "ContentDeleted", message.to_owned());
    }
    let mut messages: Vec<&str> = refusals.values().map(String::as_str).collect();
    messages.sort_unstable();
    let (count, messages) = (refusals.len(), messages.join(", "));
    let message = format!("Failed to delete all resource types, {count} remaining: {messages}");
    // A webhook can refuse a deletion with a message of any length.
    (true, "ContentDeletionFailed", message.chars().take(MESSAGE_LENGTH).collect())
}

/// Returns the conditions that describe the remaining content, with the messages of the real namespace controller.
fn conditions(
    left: &[(Served, String, Vec<String>)],
    refusals: &BTreeMap<String, String>,
    now: &str,
) -> Value {
    let mut resources = BTreeMap::<String, usize>::new();
    let mut finalizers = BTreeMap::<&str, usize>::new();
    for (served, _, held_by) in left {
        *resources.entry(type_of(served)).or_default() += 1;
        for name in held_by {
            *finalizers.entry(name).or_default() += 1;
        }
    }
    let remaining: Vec<String> =
        resources.iter().map(|(name, count)| format!("{name} has {count} resource instances")).collect();
    let held: Vec<String> =
        finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
    let condition = |kind: &str, status: bool, reason: &str, message: String| {
        json!({"type": kind, "status": if status { "True" } else { "False" }, "reason": reason, "message": message,
            "lastTransitionTime": now})
    };
    let (has_failed, failure, failure_message) = content_failure(refusals);
    let mut conditions = vec![
        condition(
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered".into(),
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".into(),
        ),
        condition("NamespaceDeletionContentFailure", has_failed, failure, failure_message),
        condition(
            "NamespaceContentRemaining",
            true,
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", remaining.join(", ")),
        ),
    ];
    conditions.push(if held.is_empty() {
        let message = "All content-preserving finalizers finished".into();
        condition("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", message)
    } else {
        let message = format!("Some content in the namespace has finalizers remaining: {}", held.join(", "));
        condition("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", message)
    });
    Value::Array(conditions)
}
