//! Namespaces and CustomResourceDefinitions that are being deleted, whose content is removed first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use store::{Event, EventKind, Stored};
use tokio::time::Instant;

use crate::storage::outline;
use crate::write::writes::Writes;

/// The time after which a refused deletion is tried again: nothing says when what refuses it, in another namespace or a webhook, is gone.
pub(super) const RETRY: Duration = Duration::from_secs(5);

/// The objects of one kind that are being deleted, by name and with their UIDs: an object that is created again under the same name is
/// another one, and keeps its content.
#[derive(Default)]
pub(crate) struct Terminating {
    found: BTreeMap<String, Found>,
    /// The names to work on, because something has changed.
    queue: BTreeSet<String>,
}

struct Found {
    uid: String,
    /// Whether everything that was allowed before the deletion is stored, so that no further content appears.
    sealed: bool,
    /// When to try again, after a refusal.
    again_at: Option<Instant>,
}

/// One object to work on.
pub(crate) struct Pending {
    pub(crate) name: String,
    pub(crate) uid: String,
    /// Whether the last attempt was refused, so that another refusal is no news.
    pub(crate) is_retry: bool,
}

impl Terminating {
    /// Returns the objects below the prefix of their kind that are being deleted, all of them to be worked on.
    pub(crate) fn below(writes: &Writes, prefix: &str) -> Self {
        let mut terminating = Self::default();
        for stored in writes.storage().range(prefix).0 {
            terminating.see(&stored);
        }
        terminating
    }

    /// Records a change of an object of the kind.
    pub(crate) fn observe(&mut self, event: &Event) {
        if event.kind == EventKind::Deleted {
            self.forget(event.key().name());
        } else {
            self.see(&event.object);
        }
    }

    fn see(&mut self, stored: &Stored) {
        let name = stored.key.name();
        let Some(outline) = outline::of(stored).filter(|outline| outline.is_deleting) else {
            return self.forget(name);
        };
        if self.found.get(name).is_none_or(|found| *found.uid != *outline.uid) {
            let found = Found { uid: outline.uid.to_string(), sealed: false, again_at: None };
            self.found.insert(name.to_owned(), found);
            self.queue.insert(name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) {
        self.found.remove(name);
        self.queue.remove(name);
    }

    /// Returns whether no object of the kind is being deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Records that the content of `name` has changed.
    pub(crate) fn touch(&mut self, name: &str) {
        if self.found.contains_key(name) {
            self.queue.insert(name.to_owned());
        }
    }

    /// Returns name and UID of the objects for which the next [`Self::take`] waits.
    pub(crate) fn unsealed(&self) -> impl Iterator<Item = (&str, &str)> {
        let unsealed = self.found.iter().filter(|(_, found)| !found.sealed);
        unsealed.map(|(name, found)| (name.as_str(), found.uid.as_str()))
    }

    /// Takes the objects to work on. On the first call for an object, it waits until all creations are stored that began before the object
    /// was marked. The caller has made sure that later ones are refused.
    pub(crate) async fn take(&mut self, writes: &Writes) -> Vec<Pending> {
        let now = writes.clock().monotonic();
        let due = self.found.iter().filter(|(_, found)| found.again_at.is_some_and(|at| at <= now));
        self.queue.extend(due.map(|(name, _)| name.clone()));
        let (mut pending, mut seals) = (Vec::new(), false);
        for name in std::mem::take(&mut self.queue) {
            let Some(found) = self.found.get_mut(&name) else { continue };
            seals |= !std::mem::replace(&mut found.sealed, true);
            let is_retry = found.again_at.take().is_some();
            pending.push(Pending { name, uid: found.uid.clone(), is_retry });
        }
        if seals {
            writes.storage().creations_stored().await;
        }
        pending
    }

    /// Tries again after a while, because a deletion was refused.
    pub(crate) fn retry(&mut self, writes: &Writes, name: &str) {
        if let Some(found) = self.found.get_mut(name) {
            found.again_at = Some(writes.clock().monotonic() + RETRY);
        }
    }

    /// Returns when to work again even without a change.
    pub(crate) fn again_at(&self) -> Option<Instant> {
        self.found.values().filter_map(|found| found.again_at).min()
    }
}

/// Returns whether the object stored under `key` has this UID and is being deleted. Content that was listed before belongs to it then,
/// because an object with another UID can only come later.
pub(crate) fn is_terminating(writes: &Writes, key: &str, uid: &str) -> bool {
    writes.storage().stored(key).is_some_and(|stored| {
        outline::of(&stored).is_some_and(|outline| *outline.uid == *uid && outline.is_deleting)
    })
}
