//! Default namespaces, and the deletion of the contents of terminating namespaces.

use futures::StreamExt;
use std::collections::BTreeMap;

use kinds::Subresource;
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};
use store::Event;
use tokio::time::Instant;

use super::edit::{MANAGER, edit};
use super::part::{CONCURRENCY, Part};
use super::terminating::{Pending, Terminating, is_terminating};
use crate::context::{Context, DeleteOptions, Input, Preconditions, Propagation};
use crate::storage::keys;
use crate::storage::outline;
use crate::target::Target;
use crate::verbs;
use crate::versions::definitions::Served;
use crate::write::writes::Writes;

/// Namespaces that always exist.
const DEFAULTS: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// The prefix of all namespaces.
const PREFIX: &str = "/registry/core/namespaces/";
/// The finalizer in `spec.finalizers` that this part removes.
const FINALIZER: &str = "kubernetes";

/// Creates the namespaces that always exist.
pub(crate) async fn create_defaults(writes: &Writes) {
    let Some(served) = writes.versions().served("", "v1", "namespaces") else { return };
    for name in DEFAULTS {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let mut context = Context::start("kube-apiserver");
        match verbs::create(writes, &mut context, &served, "", Input::new(object)).await {
            Err(status) if status.reason != "AlreadyExists" => {
                tracing::error!(namespace = name, %status, "a namespace could not be created");
            }
            _ => {}
        }
    }
}

/// The longest message of a condition in characters, as in the schema of `metav1.Condition`.
const MESSAGE_LENGTH: usize = 32_768;

/// The task that empties namespaces that are being deleted.
pub(crate) struct Emptying(Terminating);

impl Emptying {
    pub(crate) fn new(writes: &Writes) -> Self {
        Self(Terminating::below(writes, PREFIX))
    }
}

impl Part for Emptying {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == ("", "namespaces") {
            self.0.observe(event);
        } else if let Some(namespace) = key.namespace() {
            self.0.touch(namespace);
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        for Pending { name, uid, is_retry } in self.0.take(writes).await {
            match empty(writes, &name, &uid, !is_retry).await {
                Ok(Emptied::Deleted) => {}
                Ok(Emptied::Refused) => self.0.retry(writes, &name),
                Err(status) if status.reason == "NotFound" => {}
                Err(status) => {
                    if !is_retry && status.reason != "Conflict" {
                        tracing::warn!(namespace = name, %status, "a namespace could not be emptied");
                    }
                    self.0.retry(writes, &name);
                }
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.0.again_at()
    }
}

/// The outcome of the deletion of a namespace's content.
enum Emptied {
    /// Everything is deleted, or is held by its finalizers only.
    Deleted,
    /// The deletion of an object was refused.
    Refused,
}

/// One object in a namespace.
struct Contained {
    served: Served,
    name: String,
    uid: String,
    finalizers: Vec<String>,
}

/// Returns the content of a namespace.
fn content(writes: &Writes, namespace: &str) -> Vec<Contained> {
    let definitions = writes.versions().definitions();
    let mut content = Vec::new();
    for definition in definitions.iter().filter(|definition| definition.namespaced) {
        let (group, plural) = keys::home(definition);
        // Events are served by two groups but stored only once.
        if group != definition.group {
            continue;
        }
        let Some(served) = definitions.stored(group, plural) else { continue };
        let (entries, _) = writes.storage().range(&keys::namespace(definition, namespace));
        for stored in entries {
            let (name, outline) = (stored.key.name().to_owned(), outline::of(&stored));
            let uid = outline.map(|outline| outline.uid.to_string()).unwrap_or_default();
            let finalizers = outline.into_iter().flat_map(|outline| outline.finalizers.iter());
            let finalizers = finalizers.map(str::to_owned).collect();
            content.push(Contained { served: served.clone(), name, uid, finalizers });
        }
    }
    content
}

/// Deletes the content of the namespace with this UID. `warns` says whether refusals are logged.
async fn empty(writes: &Writes, namespace: &str, uid: &str, warns: bool) -> Result<Emptied, Status> {
    let contained = content(writes, namespace);
    if !is_terminating(writes, &format!("{PREFIX}{namespace}"), uid) {
        return Ok(Emptied::Deleted);
    }
    let refusals = &Mutex::new(BTreeMap::new());
    futures::stream::iter(contained)
        .for_each_concurrent(CONCURRENCY, |Contained { served, name, uid, .. }| async move {
            let options = DeleteOptions {
                preconditions: Preconditions { uid: Some(uid).filter(|uid| !uid.is_empty()), resource_version: None },
                propagation: Some(Propagation::Background),
                ..DeleteOptions::default()
            };
            let mut context = Context::internal(MANAGER);
            let deleted = verbs::delete(writes, &mut context, &served, namespace, &name, &options).await;
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
    let Some(served) = writes.versions().served("", "v1", "namespaces") else { return Ok(emptied) };
    let target = Target { served: &served, namespace: "", name: namespace, subresource: Subresource::Status };
    let left = content(writes, namespace);
    if !left.is_empty() {
        let conditions = conditions(&left, &refusals, &writes.now());
        return edit(writes, &target, uid, |object| {
            object["status"]["conditions"] = keep_times(object, &conditions)
        })
        .await
        .map(|()| emptied);
    }
    let target = Target { subresource: Subresource::Finalize, ..target };
    edit(writes, &target, uid, |object| {
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
fn conditions(left: &[Contained], refusals: &BTreeMap<String, String>, now: &str) -> Value {
    let mut resources = BTreeMap::<String, usize>::new();
    let mut finalizers = BTreeMap::<&str, usize>::new();
    for object in left {
        *resources.entry(type_of(&object.served)).or_default() += 1;
        for name in &object.finalizers {
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
