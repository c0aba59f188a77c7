//! The limit for what is kept of a workload cluster. Its API server is somebody else's, and may report objects without end.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Limit for the text of all cached objects of a workload cluster. The largest cluster that Kubernetes supports has 5,000 Nodes, of about
/// 20 KB each.
pub(crate) const LIMIT: usize = 128 << 20;

/// Counts the cached objects of a workload cluster.
#[derive(Default)]
pub(crate) struct Quota(Mutex<Sizes>);

#[derive(Default)]
struct Sizes {
    /// The size of the text of each object, by kind and name.
    objects: BTreeMap<(String, String), usize>,
    total: usize,
}

impl Quota {
    /// Returns whether an object of this size may be kept, and counts it in place of its earlier state.
    pub fn admit(&self, kind: &str, name: &str, size: usize) -> bool {
        let mut sizes = self.0.lock();
        let key = (kind.to_owned(), name.to_owned());
        let before = sizes.objects.get(&key).copied().unwrap_or(0);
        let total = (sizes.total - before).saturating_add(size);
        if total > LIMIT {
            return false;
        }
        sizes.total = total;
        sizes.objects.insert(key, size);
        true
    }

    /// Stops counting an object that is not kept any more.
    pub fn forget(&self, kind: &str, name: &str) {
        let mut sizes = self.0.lock();
        if let Some(size) = sizes.objects.remove(&(kind.to_owned(), name.to_owned())) {
            sizes.total -= size;
        }
    }

    /// Stops counting the objects of a kind for which `is_kept` is false.
    pub fn retain(&self, kind: &str, is_kept: impl Fn(&str) -> bool) {
        let mut sizes = self.0.lock();
        let Sizes { objects, total } = &mut *sizes;
        objects.retain(|(of, name), size| {
            let stays = of != kind || is_kept(name);
            if !stays {
                *total -= *size;
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_limit_is_not_kept() {
        let quota = Quota::default();
        assert!(quota.admit("Node", "a", LIMIT - 10), "below");
        assert!(quota.admit("Pod", "a", 10), "at the limit");
        assert!(!quota.admit("Pod", "b", 1), "above");
        assert!(!quota.admit("Pod", "a", 11), "a change counts, too");
        assert!(quota.admit("Node", "a", 5), "an object may become smaller");
        assert!(quota.admit("Pod", "b", 1));
        quota.forget("Node", "a");
        quota.retain("Pod", |name| name == "b");
        assert!(quota.admit("Node", "c", LIMIT - 1), "only b is left");
        assert!(!quota.admit("Node", "d", 1));
    }
}
