//! The cache of converted objects of a resource.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::storage::outline::Outline;

/// Maximum total size of the cached objects of a resource, in bytes. If an object would exceed it, the whole cache is cleared.
const BYTES: usize = 32 * 1024 * 1024;

/// A converted object, with its outline: a webhook may change labels.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) text: Bytes,
    outline: OnceLock<Option<Outline>>,
}

impl Shown {
    pub(crate) fn new(text: Bytes) -> Arc<Self> {
        Arc::new(Self { text, outline: OnceLock::new() })
    }

    /// Returns the outline, which is read from the text at the first call. Returns `None` if the object is malformed.
    pub(crate) fn outline(&self) -> Option<&Outline> {
        self.outline.get_or_init(|| Outline::read(&self.text)).as_ref()
    }
}

/// Converted objects by revision and version. An object at a given revision is converted to the same object until a definition changes:
/// then the cache is cleared, because the object may refer to a kind whose definition this is.
#[derive(Default)]
pub(crate) struct Converted(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    objects: BTreeMap<(u64, Arc<str>), Arc<Shown>>,
    size: usize,
}

impl Converted {
    /// Returns a converted object.
    pub(crate) fn get(&self, revision: u64, version: &str) -> Option<Arc<Shown>> {
        self.0.lock().objects.get(&(revision, version.into())).cloned()
    }

    /// Adds a converted object, and returns it.
    pub(crate) fn add(&self, revision: u64, version: &str, object: Bytes) -> Arc<Shown> {
        let key = (revision, version.into());
        let shown = Shown::new(object);
        let mut kept = self.0.lock();
        if let Some(old) = kept.objects.remove(&key) {
            kept.size -= old.text.len();
        }
        let mut full = Kept::default();
        if kept.size + shown.text.len() > BYTES {
            std::mem::swap(&mut *kept, &mut full);
        }
        kept.size += shown.text.len();
        kept.objects.insert(key, shown.clone());
        drop(kept);
        // Frees what was in the cache after the lock, because that takes long.
        drop(full);
        shown
    }

    /// Removes all objects.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Kept::default();
    }
}
