//! Owner references to objects in another namespace, which never hold, and the Events that say so.

use std::collections::HashSet;

use futures::StreamExt;
use machinery::status::Status;
use serde_json::json;
use store::Key;

use super::edit::MANAGER;
use super::graph::Graph;
use super::part::CONCURRENCY;
use crate::context::{Context, Input};
use crate::storage::outline::Owner;
use crate::verbs;
use crate::write::writes::Writes;

/// The source of the Events.
const SOURCE: &str = "garbage-collector-controller";

/// The number of characters of an object's name that an Event's name has.
const NAME: usize = 236;

/// An object and its owner reference that does not hold.
#[derive(Debug, Clone)]
pub(super) struct Misplaced {
    key: Key,
    uid: String,
    owner: Owner,
}

/// Returns the references that do not hold since the object `uid` was added or changed: its own that are new, and those of others to it, if it
/// is new. `before` are its former owners, if it is not new.
pub(super) fn found(graph: &Graph, uid: &str, before: Option<&[Owner]>) -> Vec<Misplaced> {
    let Some(node) = graph.nodes.get(uid) else { return Vec::new() };
    let known: HashSet<&str> = before.into_iter().flatten().map(|owner| &*owner.uid).collect();
    let new = node.owners.iter().filter(|owner| !known.contains(&*owner.uid));
    let mut found: Vec<Misplaced> = new.filter_map(|owner| between(graph, uid, owner)).collect();
    if before.is_none() {
        let dependents =
            graph.dependents(uid).filter_map(|dependent| Some((dependent, graph.nodes.get(dependent)?)));
        found.extend(dependents.filter_map(|(dependent, node)| {
            between(graph, dependent, node.owners.iter().find(|owner| owner.uid == uid)?)
        }));
    }
    found
}

/// Returns the reference of the object `uid` to `owner`, if that object is in another namespace.
fn between(graph: &Graph, uid: &str, owner: &Owner) -> Option<Misplaced> {
    let (node, found) = (graph.nodes.get(uid)?, graph.nodes.get(&owner.uid)?);
    let is_elsewhere = found.key.namespace().is_some() && found.key.namespace() != node.key.namespace();
    is_elsewhere.then(|| Misplaced { key: node.key.clone(), uid: uid.to_owned(), owner: owner.clone() })
}

/// Creates an Event for each reference.
pub(super) async fn report(writes: &Writes, misplaced: Vec<Misplaced>) {
    futures::stream::iter((0..).zip(misplaced))
        .for_each_concurrent(CONCURRENCY, |(index, one)| async move {
            let key = one.key.clone();
            // A namespace that is being deleted takes no Events.
            if let Err(status) = create(writes, index, one).await {
                tracing::debug!(%key, %status, "an Event about an owner reference could not be created");
            }
        })
        .await;
}

async fn create(writes: &Writes, index: i64, misplaced: Misplaced) -> Result<(), Status> {
    let Misplaced { key, uid, owner } = misplaced;
    let definitions = writes.versions().definitions();
    let Some(dependent) = definitions.stored(key.group(), key.resource()) else { return Ok(()) };
    let Some(events) = definitions.served("", "v1", "events") else { return Ok(()) };
    let (kind, namespace) = (&dependent.definition.kind, key.namespace().unwrap_or_default());
    let place = key.namespace().unwrap_or("default");
    let now = writes.clock().now();
    // References that are found at the same time have Events of their own.
    let nanoseconds = now.timestamp_nanos_opt().unwrap_or_default() + index;
    let name = format!("{}.{nanoseconds:x}", key.name().get(..NAME).unwrap_or(key.name()));
    let now = machinery::clock::rfc3339(now);
    let reference = format!(
        "[{}/{}, namespace: {namespace}, name: {}, uid: {}]",
        owner.api_version, owner.kind, owner.name, owner.uid
    );
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": place},
        "involvedObject": {
            "kind": kind, "namespace": namespace, "name": key.name(), "uid": uid,
            "apiVersion": dependent.api_version(),
        },
        "reason": "OwnerRefInvalidNamespace", "type": "Warning", "count": 1,
        "message": format!("ownerRef {reference} does not exist in namespace {namespace:?}"),
        "source": {"component": SOURCE}, "reportingComponent": SOURCE,
        "firstTimestamp": now, "lastTimestamp": now,
    });
    let mut context = Context::internal(MANAGER);
    verbs::create(writes, &mut context, &events, place, Input::new(event)).await.map(drop)
}
