//! The cache of converted objects of a resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Maximum total size of the cached objects of a resource, in bytes. If an object would exceed it, the whole cache is cleared.
const BYTES: usize = 8 * 1024 * 1024;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_cleared() {
        let (cache, large) = (Converted::default(), Bytes::from(vec![0; BYTES / 2]));
        for revision in 1..=2 {
            cache.add(revision, "v1", large.clone());
            cache.add(revision, "v1", large.clone());
        }
        assert!(cache.get(1, "v1").is_some() && cache.get(1, "v2").is_none());
        cache.add(3, "v1", large.clone());
        assert!(cache.get(1, "v1").is_none() && cache.get(3, "v1").is_some());
        cache.add(4, "v1", Bytes::from(vec![0; BYTES]));
        assert_eq!(cache.0.lock().size, BYTES);
        cache.clear();
        assert!(cache.get(4, "v1").is_none());
    }
}
