//! Checks a history.

use std::collections::BTreeMap;

use crate::history::{
    Answer, Change, History, Kind, Listing, Log, Operation, Request, Revision, Seen, Watching,
};
use crate::{registers, revisions, watches};

/// The extent of a check, and the violations found.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of requests for single objects.
    pub operations: usize,
    /// Number of requests with an unknown outcome.
    pub unknown: usize,
    /// Number of lists.
    pub listings: usize,
    /// Number of watches.
    pub watches: usize,
    /// Number of watch events.
    pub events: usize,
    /// Number of bookmarks.
    pub bookmarks: usize,
    /// Number of watches refused because their start was too old.
    pub expired: usize,
    /// Number of changes.
    pub changes: usize,
    /// The violations, one sentence each.
    pub violations: Vec<String>,
}

/// Checks `history` of a server that keeps at least `kept` revisions for watches.
pub fn check(history: &History, kept: u64) -> Report {
    let operations = history.operations.lock();
    let listings = history.listings.lock();
    let watches = history.watches.lock();
    let mut report = Report {
        operations: operations.len(),
        unknown: operations.iter().filter(|operation| operation.answer == Answer::Unknown).count(),
        listings: listings.len(),
        watches: watches.len(),
        expired: watches.iter().filter(|watching| watching.expired).count(),
        ..Report::default()
    };
    for (_, told) in watches.iter().flat_map(|watching| &watching.told) {
        match told {
            Seen::Event(..) => report.events += 1,
            Seen::Bookmark(_) => report.bookmarks += 1,
        }
    }
    let log = log(&operations, &listings, &watches, &mut report.violations);
    report.changes = log.len();
    let operations = resolve(&operations, &log);
    watches::check(&watches, &log, kept, &mut report.violations);
    revisions::check(&operations, &listings, &log, &mut report.violations);
    registers::check(&operations, &listings, &mut report.violations);
    report
}

/// Collects the changes from all responses and events.
fn log(
    operations: &[Operation],
    listings: &[Listing],
    watches: &[Watching],
    violations: &mut Vec<String>,
) -> Log {
    let mut log = Log::new();
    let mut note = |revision: Revision, key: &str, value: Option<&str>, known: u64| {
        let change = Change { key: key.to_owned(), value: value.map(str::to_owned), known };
        let there = log.entry(revision).or_insert_with(|| change.clone());
        if (&there.key, &there.value) != (&change.key, &change.value) {
            violations.push(format!("revision {revision} is used twice: {there:?} and {change:?}"));
        }
        there.known = there.known.min(known);
    };
    for operation in operations {
        let (key, end) = (&operation.key, operation.end);
        match (&operation.request, &operation.answer) {
            (
                Request::Create(value) | Request::Update(_, value) | Request::Patch(value),
                Answer::Written(revision),
            )
            | (Request::Read, Answer::Found(revision, value)) => note(*revision, key, Some(value), end),
            _ => {}
        }
    }
    for listing in listings {
        for (key, revision, value) in &listing.items {
            note(*revision, key, Some(value), listing.end);
        }
    }
    for (moment, told) in watches.iter().flat_map(|watching| &watching.told) {
        if let Seen::Event(kind, key, revision, value) = told {
            note(*revision, key, (*kind != Kind::Deleted).then_some(value), *moment);
        }
    }
    log
}

/// Determines the outcome of unanswered operations: those whose effect was observed happened before that, the
/// others did not happen.
fn resolve(operations: &[Operation], log: &Log) -> Vec<Operation> {
    let mut written: BTreeMap<&str, Revision> = BTreeMap::new();
    let mut of_key: BTreeMap<&str, Vec<Revision>> = BTreeMap::new();
    for (revision, change) in log {
        written.extend(change.value.as_deref().map(|value| (value, *revision)));
        of_key.entry(&change.key).or_default().push(*revision);
    }
    // The response to a deletion has no revision; the deletion is the change after the deleted revision.
    let deletion = |key: &str, expected: Revision| {
        let revisions = of_key.get(key)?;
        let next = *revisions.get(revisions.partition_point(|revision| *revision <= expected))?;
        log[&next].value.is_none().then_some(next)
    };
    let deleted_by_answer: Vec<(&str, Revision)> = operations
        .iter()
        .filter_map(|operation| match (&operation.request, &operation.answer) {
            (Request::Delete(expected), Answer::Deleted) => Some((operation.key.as_str(), *expected)),
            _ => None,
        })
        .collect();
    // Several clients may have requested the same deletion; it is attributed to the first request that could
    // have done it.
    let mut first: BTreeMap<(&str, Revision), u64> = BTreeMap::new();
    for operation in operations {
        if let (Request::Delete(expected), Answer::Unknown) = (&operation.request, &operation.answer) {
            let call = first.entry((&operation.key, *expected)).or_insert(operation.call);
            *call = operation.call.min(*call);
        }
    }
    let resolved = |operation: &Operation| {
        let mut operation = operation.clone();
        if operation.answer != Answer::Unknown {
            return Some(operation);
        }
        let (revision, answer) = match &operation.request {
            Request::Create(value) | Request::Update(_, value) | Request::Patch(value) => {
                let revision = *written.get(value.as_str())?;
                (revision, Answer::Written(revision))
            }
            Request::Delete(expected) => {
                let deletes = (operation.key.as_str(), *expected);
                if deleted_by_answer.contains(&deletes) || first.get(&deletes) != Some(&operation.call) {
                    return None;
                }
                (deletion(&operation.key, *expected)?, Answer::Deleted)
            }
            Request::Read => return None,
        };
        operation.end = log[&revision].known.max(operation.call);
        operation.answer = answer;
        Some(operation)
    };
    operations.iter().filter_map(resolved).collect()
}
