//! What the tests that kill processes share: the writes of a process, and what must be found of them.

use std::collections::BTreeMap;

use store::{Key, Prefix, Store, Stored};

/// The last acknowledged write of each writer: its count and its revision.
pub type Acknowledged = BTreeMap<usize, (u64, u64)>;

/// Where a writer writes.
pub fn key(writer: usize) -> Key {
    Key::new("", "configmaps", Some("default"), &format!("writer-{writer}")).unwrap()
}

/// Which of its writer's writes this is.
pub fn count(stored: &Stored) -> u64 {
    number(stored, 0)
}

fn number(stored: &Stored, index: usize) -> u64 {
    let text = std::str::from_utf8(&stored.value).unwrap();
    text.split(' ').nth(index).unwrap().parse().unwrap()
}

/// Reads a line that a writer printed.
pub fn parse(line: &str) -> Option<(usize, (u64, u64))> {
    let mut parts = line.split(' ');
    let writer = parts.next()?.parse().ok()?;
    Some((writer, (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)))
}

/// Compares a store that was opened after a kill with what was acknowledged before: nothing is lost, at most the one write of each
/// writer that was under way is there as well, nothing is mixed up, and the history has no hole.
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
