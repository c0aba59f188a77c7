//! Deletes the objects of a CustomResourceDefinition that is being deleted, before the definition itself is removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use kinds::Subresource;
use machinery::status::Status;
use store::{Event, EventKind, Stored};
use tokio::time::Instant;

use super::edit::{edit, retain};
use super::part::{CONCURRENCY, Part};
use super::terminating::{Pending, RETRY, Terminating, is_terminating};
use crate::context::{Context, DeleteOptions, Preconditions, Propagation};
use crate::storage::keys;
use crate::storage::outline;
use crate::target::Target;
use crate::verbs;
use crate::versions::definitions::{CRDS, Served};
use crate::write::writes::Writes;

/// The definitions that are being deleted, and those that were written lately, by name (`plural.group`).
pub(crate) struct Cleanup {
    terminating: Terminating,
    /// When to look whether a written definition has taken effect. The request that writes it takes care of that, but it ends when its
    /// client goes.
    written: BTreeMap<String, Instant>,
}

impl Cleanup {
    pub(crate) fn new(writes: &Writes) -> Self {
        let prefix = format!("/registry/{}/{}/", CRDS.0, CRDS.1);
        // The server can have ended between the write of a definition and its effect.
        let now = writes.clock().monotonic();
        let written = writes.storage().range(&prefix).0.into_iter();
        let written = written.map(|stored| (stored.key.name().to_owned(), now)).collect();
        Self { terminating: Terminating::below(writes, &prefix), written }
    }
}

impl Part for Cleanup {
    fn observe(&mut self, writes: &Writes, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == CRDS {
            self.terminating.observe(event);
            self.written.insert(key.name().to_owned(), writes.clock().monotonic() + RETRY);
        } else if event.kind == EventKind::Deleted && !self.terminating.is_empty() {
            self.terminating.touch(&format!("{}.{}", key.resource(), key.group()));
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        // The request that deletes a definition marks it only after the definition is stored, and this task can be faster.
        for (name, uid) in self.terminating.unsealed() {
            let (plural, group) = split(name);
            writes.versions().definitions().end(group, plural, uid);
        }
        for Pending { name, uid, is_retry } in self.terminating.take(writes).await {
            match clean(writes, &name, &uid, is_retry).await {
                Ok(true) => {}
                Ok(false) => self.terminating.retry(writes, &name),
                Err(status) if status.reason == "NotFound" => {}
                Err(status) => {
                    if !is_retry && status.reason != "Conflict" {
                        tracing::warn!(name, %status, "the objects of a deleted definition could not be deleted");
                    }
                    self.terminating.retry(writes, &name);
                }
            }
        }
        let now = writes.clock().monotonic();
        let due: Vec<String> =
            self.written.iter().filter(|(_, at)| **at <= now).map(|(name, _)| name.clone()).collect();
        for name in due {
            self.written.remove(&name);
            writes.follow(&name).await;
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.terminating.again_at().into_iter().chain(self.written.values().copied()).min()
    }
}

fn split(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((name, ""))
}

/// Deletes the objects of a definition, or its finalizer if there are none. Returns `false` if a deletion was refused.
async fn clean(writes: &Writes, name: &str, uid: &str, is_retry: bool) -> Result<bool, Status> {
    let Some(crds) = writes.versions().definitions().stored(CRDS.0, CRDS.1) else { return Ok(true) };
    let (plural, group) = split(name);
    let own = writes.versions().definitions().stored(group, plural).filter(|served| served.uid() == uid);
    if let Some(served) = own {
        let prefix = keys::namespace(&served.definition, "");
        let (entries, _) = writes.storage().range(&prefix);
        if !is_terminating(writes, &keys::object(&crds.definition, "", name), uid) {
            return Ok(true);
        }
        let all = delete(writes, &served, entries, !is_retry).await;
        if !writes.storage().range(&prefix).0.is_empty() {
            return Ok(all);
        }
    }
    // Writes through the `status` subresource: the stored spec may be invalid under the current rules, and an ordinary
    // update would then be refused.
    let target = Target { served: &crds, namespace: "", name, subresource: Subresource::Status };
    edit(writes, &target, uid, |crd| {
        retain(crd, "finalizers", |finalizer| finalizer != apiextensions::crd::CLEANUP_FINALIZER)
    })
    .await
    .map(|()| true)
}

/// Deletes these objects, but not others that have got their names. `warns` says whether refusals are logged. Returns whether there were
/// none.
async fn delete(writes: &Writes, served: &Served, entries: Vec<Arc<Stored>>, warns: bool) -> bool {
    let refused = &AtomicBool::new(false);
    futures::stream::iter(entries)
        .for_each_concurrent(CONCURRENCY, |stored| async move {
            let uid = outline::of(&stored).map(|outline| outline.uid.to_string());
            let options = DeleteOptions {
                preconditions: Preconditions { uid, resource_version: None },
                propagation: Some(Propagation::Background),
                ..DeleteOptions::default()
            };
            let namespace = stored.key.namespace().unwrap_or_default();
            let mut context = Context::internal("kube-apiserver");
            let deleted = verbs::delete(writes, &mut context, served, namespace, stored.key.name(), &options).await;
            let Some(status) = deleted.err().filter(|status| status.reason != "NotFound") else { return };
            refused.store(true, Ordering::Relaxed);
            if warns {
                tracing::warn!(key = %stored.key, %status, "an object of a deleted definition could not be deleted");
            }
        })
        .await;
    !refused.load(Ordering::Relaxed)
}
