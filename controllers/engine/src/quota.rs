//! The limit for what is kept of workload clusters: one budget for all of them, in bytes of memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::CLUSTERS_TOGETHER_BYTES;

/// The memory that the cached objects of all workload clusters take.
#[derive(Default)]
pub struct Budget(Mutex<usize>);

impl Budget {
    /// Returns how many bytes are taken.
    pub fn used(&self) -> usize {
        *self.0.lock()
    }

    /// Counts `more` in place of `less` for a cluster that then has `own`, if that is at most what is left for others.
    fn take(&self, less: usize, more: usize, own: usize) -> bool {
        let mut used = self.0.lock();
        let after = (*used - less).saturating_add(more);
        let is_within = own.checked_add(after).is_some_and(|sum| sum <= CLUSTERS_TOGETHER_BYTES);
        // Whatever becomes smaller may stay.
        if is_within || more <= less {
            *used = after;
            return true;
        }
        false
    }

    fn give_back(&self, size: usize) {
        *self.0.lock() -= size;
    }
}

/// Counts the cached objects of a workload cluster.
#[derive(Default)]
pub struct Quota {
    budget: Arc<Budget>,
    sizes: Mutex<Sizes>,
}

#[derive(Default)]
struct Sizes {
    /// The size of each object, by kind and name.
    objects: BTreeMap<(String, String), usize>,
    total: usize,
    was_full: bool,
}

/// The answer to the question whether an object may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// It is counted.
    Yes,
    /// There is no room for it.
    No,
    /// There is no room for it, nor was there for an object before.
    NoAgain,
}

impl Quota {
    /// Returns the quota of a cluster within the budget of all.
    pub fn of(budget: &Arc<Budget>) -> Self {
        Self { budget: budget.clone(), sizes: Mutex::default() }
    }

    /// Returns whether an object of `size` bytes may be kept, and counts it in place of its earlier state.
    pub fn count(&self, kind: &str, name: &str, size: usize) -> Counted {
        let mut sizes = self.sizes.lock();
        let key = (kind.to_owned(), name.to_owned());
        let before = sizes.objects.get(&key).copied().unwrap_or(0);
        let total = (sizes.total - before).saturating_add(size);
        if !self.budget.take(before, size, total) {
            let was_full = std::mem::replace(&mut sizes.was_full, true);
            return if was_full { Counted::NoAgain } else { Counted::No };
        }
        sizes.total = total;
        sizes.objects.insert(key, size);
        Counted::Yes
    }

    /// Stops counting an object that is not kept any more.
    pub fn forget(&self, kind: &str, name: &str) {
        let mut sizes = self.sizes.lock();
        if let Some(size) = sizes.objects.remove(&(kind.to_owned(), name.to_owned())) {
            sizes.total -= size;
            self.budget.give_back(size);
        }
    }

    /// Stops counting the objects of a kind for which `is_kept` is false.
    pub fn retain(&self, kind: &str, is_kept: impl Fn(&str) -> bool) {
        let mut sizes = self.sizes.lock();
        let Sizes { objects, total, .. } = &mut *sizes;
        let mut freed = 0;
        objects.retain(|(of, name), size| {
            let stays = of != kind || is_kept(name);
            if !stays {
                freed += *size;
            }
            stays
        });
        *total -= freed;
        self.budget.give_back(freed);
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.budget.give_back(self.sizes.lock().total);
    }
}
