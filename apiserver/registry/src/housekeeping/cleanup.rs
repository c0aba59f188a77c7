//! Deletes the objects of a CustomResourceDefinition that is being deleted, before the definition itself is removed.

use futures::StreamExt;
use std::collections::BTreeSet;

use kinds::Subresource;
use machinery::status::Status;
use store::{Event, EventKind};

use super::garbage::{edit, retain};
use super::part::{CONCURRENCY, Part};
use crate::context::{Context, DeleteOptions, Propagation};
use crate::registry::Registry;
use crate::storage::keys;
use crate::storage::outline;
use crate::target::Target;
use crate::versions::definitions::CRDS;

/// The definitions that are being deleted, by name (`plural.group`).
pub(crate) struct Cleanup {
    terminating: BTreeSet<String>,
    queue: BTreeSet<String>,
}

impl Cleanup {
    pub(crate) fn new(registry: &Registry) -> Self {
        let (crds, _) = registry.storage().range(&format!("/registry/{}/{}/", CRDS.0, CRDS.1));
        let terminating: BTreeSet<String> = crds
            .iter()
            .filter(|stored| outline::of(stored).is_some_and(|outline| outline.is_deleting))
            .map(|stored| stored.key.name().to_owned())
            .collect();
        Self { queue: terminating.clone(), terminating }
    }
}

impl Part for Cleanup {
    fn observe(&mut self, _registry: &Registry, event: &Event) {
        let key = event.key();
        if (key.group(), key.resource()) == CRDS {
            let name = key.name().to_owned();
            if event.kind == EventKind::Deleted {
                self.terminating.remove(&name);
            } else if outline::of(&event.object).is_some_and(|outline| outline.is_deleting) {
                self.terminating.insert(name.clone());
                self.queue.insert(name);
            }
        } else if event.kind == EventKind::Deleted && !self.terminating.is_empty() {
            let name = format!("{}.{}", key.resource(), key.group());
            if self.terminating.contains(&name) {
                self.queue.insert(name);
            }
        }
    }

    async fn work(&mut self, registry: &Registry) -> bool {
        for name in std::mem::take(&mut self.queue) {
            if let Err(status) = clean(registry, &name).await
                && status.reason != "NotFound"
            {
                tracing::warn!(name, %status, "the objects of a deleted definition could not be deleted");
            }
        }
        false
    }
}

async fn clean(registry: &Registry, name: &str) -> Result<(), Status> {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    if let Some(served) = registry.definitions().stored(group, plural) {
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        let (served, options) = (&served, &options);
        let prefix = keys::namespace(&served.definition, "");
        futures::stream::iter(registry.storage().range(&prefix).0)
            .for_each_concurrent(CONCURRENCY, |stored| async move {
                let namespace = stored.key.namespace().unwrap_or_default();
                let mut context = Context::internal("kube-apiserver");
                let name = stored.key.name();
                if let Err(status) = registry.delete(&mut context, served, namespace, name, options).await
                    && status.reason != "NotFound"
                {
                    tracing::warn!(key = %stored.key, %status, "an object of a deleted definition could not be deleted");
                }
            })
            .await;
        if !registry.storage().range(&prefix).0.is_empty() {
            return Ok(());
        }
    }
    let Some(crds) = registry.definitions().stored(CRDS.0, CRDS.1) else { return Ok(()) };
    // Writes through the `status` subresource: the stored spec may be invalid under the current rules, and an ordinary
    // update would then be refused.
    let target = Target { served: &crds, namespace: "", name, subresource: Subresource::Status };
    edit(registry, &target, |crd| {
        retain(crd, "finalizers", |finalizer| finalizer != apiextensions::crd::CLEANUP_FINALIZER)
    })
    .await
}
