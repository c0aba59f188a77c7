//! Tests of caches.

use std::time::Duration;

use machinery::cache::{Cache, Expiring};
use machinery::clock::Clock;

#[test]
fn the_least_recently_used_is_forgotten() {
    let cache = Cache::new(2);
    cache.keep("a", 1);
    cache.keep("b", 2);
    assert_eq!(cache.get("a"), Some(1), "used after b");
    cache.keep("c", 3);
    assert_eq!(["a", "b", "c"].map(|key| cache.get(key)), [Some(1), None, Some(3)]);
    cache.keep("a", 4);
    assert_eq!(["a", "c"].map(|key| cache.get(key)), [Some(4), Some(3)], "an entry takes its own place");
    assert_eq!(Cache::<u8, u8>::new(0).get(&1), None);
    assert_eq!(format!("{cache:?}"), "2 entries");
}

#[test]
fn values_are_kept_for_a_while() {
    let cache = Expiring::new(2, Duration::from_secs(10));
    let start = Clock::system().monotonic();
    let at = |seconds| start + Duration::from_secs(seconds);
    cache.keep("a", 1, at(0));
    assert_eq!(cache.get("a", at(9)), Some(1));
    assert_eq!(cache.get("a", at(10)), None, "a use does not prolong it");
    cache.keep("b", 2, at(5));
    cache.keep("a", 3, at(8));
    assert_eq!(["a", "b"].map(|key| cache.get(key, at(9))), [Some(3), Some(2)]);
    // Entries whose time has passed make room for others.
    cache.keep("c", 4, at(15));
    assert_eq!(["a", "b", "c"].map(|key| cache.get(key, at(15))), [Some(3), None, Some(4)]);
    assert_eq!(cache.get("b", at(5)), None, "it was forgotten");
    // Without such entries, the one that was not used for the longest time does.
    cache.get("a", at(16));
    cache.keep("d", 5, at(16));
    assert_eq!(["a", "c", "d"].map(|key| cache.get(key, at(16))), [Some(3), None, Some(5)]);
}
