//! The guarantees of watches: ordered, unique, atomic, reliable, resumable, bookmarkable.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::history::{Kind, Log, Revision, Seen, Watching};

/// Checks every watch against the log.
pub fn check(watches: &[Watching], log: &Log, kept: u64, violations: &mut Vec<String>) {
    let before = previous_values(log);
    for watching in watches {
        let name = format!("a watch of {:?} from {}", watching.namespace, watching.from);
        let mut found = Vec::new();
        order(watching, &mut found);
        if found.is_empty() {
            reliability(watching, log, &before, &mut found);
        }
        // A watch may only be refused if its start is older than the kept history, according to the number of
        // later writes.
        let newest = log.last_key_value().map_or(0, |(revision, _)| *revision);
        if watching.expired && newest < watching.from + kept {
            found.push(format!("expired, though {newest} is less than {kept} revisions later"));
        }
        violations.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
}

/// Returns the value that each change replaces.
fn previous_values(log: &Log) -> BTreeMap<Revision, Option<&str>> {
    let mut state: BTreeMap<&str, &str> = BTreeMap::new();
    let mut before = BTreeMap::new();
    for (revision, change) in log {
        let previous = match &change.value {
            Some(value) => state.insert(&change.key, value),
            None => state.remove(change.key.as_str()),
        };
        before.insert(*revision, previous);
    }
    before
}

/// Checks that events are ordered, unique and atomic (one revision is one change), and that bookmarks and
/// resumption never go back.
fn order(watching: &Watching, found: &mut Vec<String>) {
    let mut reached = watching.from;
    let mut last_event = None;
    for (_, told) in &watching.told {
        match told {
            Seen::Event(_, key, revision, _) if Some(*revision) == last_event => {
                found.push(format!("two events of revision {revision}, the second of {key}"));
            }
            Seen::Event(_, key, revision, _) if *revision <= reached => {
                found.push(format!("an event of {key} with revision {revision} after {reached}"));
            }
            Seen::Event(_, _, revision, _) => {
                last_event = Some(*revision);
                reached = *revision;
            }
            Seen::Bookmark(revision) if *revision < reached => {
                found.push(format!("a bookmark of {revision} after {reached}"));
            }
            Seen::Bookmark(revision) => reached = *revision,
        }
    }
}

/// Checks reliability: all changes up to the reached revision were sent, with the right type.
fn reliability(
    watching: &Watching,
    log: &Log,
    before: &BTreeMap<Revision, Option<&str>>,
    found: &mut Vec<String>,
) {
    let reached = watching.told.iter().map(|(_, told)| match told {
        Seen::Event(_, _, revision, _) | Seen::Bookmark(revision) => *revision,
    });
    let Some(reached) = reached.max() else { return };
    let covered = |key: &str| {
        watching.namespace.is_empty() || key.split('/').next() == Some(watching.namespace.as_str())
    };
    let told = (Bound::Excluded(watching.from), Bound::Included(reached));
    let mut expected = log.range(told).filter(|(_, change)| covered(&change.key));
    for (_, told) in &watching.told {
        let Seen::Event(kind, key, revision, value) = told else { continue };
        let next = expected.next();
        if next.map(|(expected, _)| expected) != Some(revision) {
            return found.push(format!("an event is missing: {next:?} comes before {revision} of {key}"));
        }
        let Some((_, change)) = next else { return };
        let previous = before.get(revision).copied().flatten();
        let wanted = match (&change.value, previous) {
            (None, _) => Kind::Deleted,
            (Some(_), None) => Kind::Added,
            (Some(_), Some(_)) => Kind::Modified,
        };
        let shown = change.value.as_deref().or(previous);
        if *kind != wanted || &change.key != key || shown != Some(value) {
            found.push(format!("{told:?} tells of {change:?}, which replaced {previous:?}"));
        }
    }
    if let Some(missing) = expected.next() {
        found.push(format!("an event is missing: {missing:?}, though it has come to {reached}"));
    }
}
