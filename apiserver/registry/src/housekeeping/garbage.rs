//! The garbage collector: deletes objects without remaining owners, and completes foreground and orphaning deletions.

use futures::StreamExt;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;

use kinds::Subresource;
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;
use store::{Event, EventKind, Key, Stored};
use tokio::time::Instant;

use super::edit::{MANAGER, edit, retain};
use super::graph::{Action, Graph, Step};
use super::misplaced;
use super::part::{CONCURRENCY, Part};
use super::terminating::RETRY;
use crate::context::{Context, DeleteOptions, Preconditions, Propagation};
use crate::storage::outline;
use crate::target::Target;
use crate::verbs;
use crate::versions::definitions::Served;
use crate::write::writes::Writes;

/// Minimum number of objects per thread. With fewer objects, a thread costs more than it saves.
const SHARE: usize = 1000;

/// The collector's graph of all objects, and the UIDs of the objects to check.
pub(crate) struct Collector {
    graph: Graph,
    queue: BTreeSet<String>,
    /// The UIDs of objects for which a step was refused, and when it is tried again.
    refused: BTreeMap<String, Instant>,
}

impl Collector {
    pub(crate) fn new(writes: &Writes) -> Self {
        let mut collector =
            Self { graph: Graph::default(), queue: BTreeSet::new(), refused: BTreeMap::new() };
        let (entries, _) = writes.storage().range("/registry/");
        read_all(&entries);
        for stored in &entries {
            if let Some(outline) = outline::of(stored) {
                collector.graph.upsert(&stored.key, outline);
            }
        }
        collector.queue = collector.graph.uids();
        collector
    }
}

/// Reads the outlines of all objects, on all cores because the start of the server waits for it.
fn read_all(entries: &[Arc<Stored>]) {
    fn read(entries: &[Arc<Stored>]) {
        for stored in entries {
            let _known = outline::of(stored);
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = entries.len().div_ceil(cores);
    if share < SHARE {
        return read(entries);
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = entries.chunks(share).map(|part| scope.spawn(move || read(part))).collect();
        parts.into_iter().for_each(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}

impl Part for Collector {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        let affected = match event.kind {
            EventKind::Deleted => self.graph.remove(event.key()),
            _ => match outline::of(&event.object) {
                Some(outline) => self.graph.upsert(event.key(), outline),
                None => return,
            },
        };
        self.queue.extend(affected);
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        let now = writes.clock().monotonic();
        let due: Vec<String> =
            self.refused.iter().filter(|(_, at)| **at <= now).map(|(uid, _)| uid.clone()).collect();
        self.graph.ring_ends.extend(due.iter().cloned());
        // An owner that is deleted without its dependents is the reason of steps of theirs.
        self.queue.extend(due.iter().flat_map(|uid| self.graph.owners(uid)));
        self.queue.extend(due);
        misplaced::report(writes, std::mem::take(&mut self.graph.misplaced)).await;
        let definitions = writes.versions().definitions();
        let queue = std::mem::take(&mut self.queue);
        let mut steps: Vec<Step> = queue.iter().flat_map(|uid| self.graph.plan(uid, &definitions)).collect();
        steps.extend(self.graph.open_rings(&definitions));
        steps.sort_by(|a, b| a.key.cmp(&b.key));
        steps.dedup();
        let refused = Mutex::new(Vec::new());
        futures::stream::iter(steps)
            .for_each_concurrent(CONCURRENCY, |step| {
                let refused = &refused;
                async move {
                    let (key, uid) = (step.key.clone(), step.uid.clone());
                    if let Err(status) = perform(writes, step).await
                        && !matches!(status.reason, "NotFound" | "Conflict")
                    {
                        refused.lock().push((key, uid, status));
                    }
                }
            })
            .await;
        let before = std::mem::take(&mut self.refused);
        self.refused.extend(before.iter().filter(|(_, at)| **at > now).map(|(uid, at)| (uid.clone(), *at)));
        for (key, uid, status) in refused.into_inner() {
            if !before.contains_key(&uid) {
                tracing::warn!(%key, %status, "garbage collection could not change an object");
            }
            self.refused.insert(uid, now + RETRY);
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.refused.values().min().copied()
    }
}

fn served(writes: &Writes, key: &Key) -> Option<Served> {
    writes.versions().definitions().stored(key.group(), key.resource())
}

async fn perform(writes: &Writes, Step { key, uid, action }: Step) -> Result<(), Status> {
    let Some(served) = served(writes, &key) else { return Ok(()) };
    let target = Target {
        served: &served,
        namespace: key.namespace().unwrap_or_default(),
        name: key.name(),
        subresource: Subresource::None,
    };
    match action {
        Action::Delete { foreground, owners } => {
            let Some(stored) = writes.storage().stored(key.as_str()) else { return Ok(()) };
            let Some(outline) = outline::of(&stored) else { return Ok(()) };
            // If the owner references have changed in the meantime, that change queues the object again.
            if *outline.uid != *uid || *outline.owners != *owners {
                return Ok(());
            }
            let propagation = match foreground {
                true => Propagation::Foreground,
                false if outline.finalizers.iter().any(|name| name == "orphan") => Propagation::Orphan,
                false => Propagation::Background,
            };
            let options = DeleteOptions {
                preconditions: Preconditions {
                    uid: Some(uid),
                    resource_version: Some(stored.mod_revision.0.to_string()),
                },
                propagation: Some(propagation),
                ..DeleteOptions::default()
            };
            let mut context = Context::internal(MANAGER);
            verbs::delete(writes, &mut context, &served, target.namespace, target.name, &options)
                .await
                .map(drop)
        }
        Action::Disown { uids } => {
            edit(writes, &target, &uid, |object| {
                retain(object, "ownerReferences", |owner| {
                    !owner["uid"].as_str().is_some_and(|uid| uids.contains(uid))
                });
            })
            .await
        }
        Action::Unblock { uids } => {
            edit(writes, &target, &uid, |object| {
                let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
                for owner in owners.into_iter().flatten() {
                    if owner["uid"].as_str().is_some_and(|uid| uids.contains(uid)) {
                        owner["blockOwnerDeletion"] = false.into();
                    }
                }
            })
            .await
        }
        Action::Release { finalizer } => {
            edit(writes, &target, &uid, |object| retain(object, "finalizers", |name| name != finalizer)).await
        }
    }
}
