//! Helpers for tests that kill processes: the writes of a process, and checks that they are preserved.

use std::collections::BTreeMap;

use store::{Key, Prefix, Store, Stored};

/// The last acknowledged write of each writer: count and revision.
pub type Acknowledged = BTreeMap<usize, (u64, u64)>;

/// Returns the key that a writer writes to.
pub fn key(writer: usize) -> Key {
    Key::new("", "configmaps", Some("default"), &format!("writer-{writer}")).unwrap()
}

/// Returns the count in a writer's object.
pub fn count(stored: &Stored) -> u64 {
    number(stored, 0)
}

fn number(stored: &Stored, index: usize) -> u64 {
    let text = std::str::from_utf8(&stored.value).unwrap();
    text.split(' ').nth(index).unwrap().parse().unwrap()
}

/// Parses a line that a writer printed.
pub fn parse(line: &str) -> Option<(usize, (u64, u64))> {
    let mut parts = line.split(' ');
    let writer = parts.next()?.parse().ok()?;
    Some((writer, (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)))
}

/// Compares a reopened store with the acknowledged writes: no write is lost, at most the one unacknowledged
/// write of each writer is there as well, the values are intact, and the history has no gap.
pub fn check(store: &Store, acknowledged: &Acknowledged) {
    for (writer, (acknowledged, revision)) in acknowledged {
        let stored = store.get(&key(*writer)).expect("an acknowledged object is lost");
        let found = count(&stored);
        assert!(
            (*acknowledged..=acknowledged + 1).contains(&found),
            "{found} found, {acknowledged} acknowledged"
        );
        assert!(stored.mod_revision.0 >= *revision);
        assert_eq!(number(&stored, 1), stored.mod_revision.0, "the bytes of another revision");
    }
    let mut watcher = store.watch(&Prefix::all(), store.oldest()).unwrap();
    let mut last = store.oldest().0;
    while let Some(event) = watcher.try_next().unwrap() {
        assert_eq!(event.revision().0, last + 1, "a hole in the history");
        assert_eq!(number(&event.object, 1), event.revision().0);
        last = event.revision().0;
    }
    assert_eq!(last, store.revision().0);
}
