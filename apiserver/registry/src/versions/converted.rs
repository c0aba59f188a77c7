//! The cache of converted objects of a resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Maximum total size of the cached objects of a resource, in bytes. If an object would exceed it, the whole cache is cleared.
const BYTES: usize = 32 * 1024 * 1024;

/// Converted objects by revision and version. An object at a given revision is converted to the same object until a definition changes:
/// then the cache is cleared, because the object may refer to a kind whose definition this is.
#[derive(Debug, Default)]
pub(crate) struct Converted(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    objects: BTreeMap<(u64, Arc<str>), Bytes>,
    size: usize,
}

impl Converted {
    /// Returns a converted object.
    pub(crate) fn get(&self, revision: u64, version: &str) -> Option<Bytes> {
        self.0.lock().objects.get(&(revision, version.into())).cloned()
    }

    /// Adds a converted object.
    pub(crate) fn add(&self, revision: u64, version: &str, object: Bytes) {
        let key = (revision, version.into());
        let mut kept = self.0.lock();
        if let Some(old) = kept.objects.remove(&key) {
            kept.size -= old.len();
        }
        if kept.size + object.len() > BYTES {
            *kept = Kept::default();
        }
        kept.size += object.len();
        kept.objects.insert(key, object);
    }

    /// Removes all objects.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Kept::default();
    }
}
