//! The order of revisions: it is the order of all changes, and a list shows a single moment of it.

use std::collections::BTreeMap;

use crate::history::{Answer, Listing, Log, Moment, Operation, Revision};

/// Checks writes against each other, and lists against writes.
pub fn check(operations: &[Operation], listings: &[Listing], log: &Log, violations: &mut Vec<String>) {
    let mut writes: Vec<(Revision, Moment, Moment)> = operations
        .iter()
        .filter_map(|operation| match operation.answer {
            Answer::Written(revision) => Some((revision, operation.call, operation.end)),
            _ => None,
        })
        .collect();
    writes.sort_unstable();
    let mut latest: Option<(Moment, Revision)> = None;
    for (revision, call, end) in &writes {
        if let Some((later, other)) = latest.filter(|(call, _)| call > end) {
            violations.push(format!(
                "revision {revision} was answered at {end}, before {other} was asked for at {later}, and is higher"
            ));
        }
        latest = latest.max(Some((*call, *revision)));
    }
    let mut previous: Option<(Moment, Revision)> = None;
    let mut by_end: Vec<&Listing> = listings.iter().collect();
    by_end.sort_unstable_by_key(|listing| listing.end);
    for listing in &by_end {
        check_moment(listing, &writes, violations);
        if let Some((end, revision)) = previous
            && end < listing.call
            && listing.revisions.first().is_some_and(|now| *now < revision)
        {
            violations.push(format!("a list shows {:?} after one has shown {revision}", listing.revisions));
        }
        previous = previous.max(listing.revisions.first().map(|revision| (listing.end, *revision)));
    }
    check_content(listings, log, violations);
}

/// Checks that a list includes all writes answered before it was requested, and none requested after it was
/// answered.
fn check_moment(listing: &Listing, writes: &[(Revision, Moment, Moment)], violations: &mut Vec<String>) {
    let Some(shown) = listing.revisions.first() else { return };
    if listing.revisions.iter().any(|revision| revision != shown) {
        violations.push(format!("the pages of a list show different revisions: {:?}", listing.revisions));
    }
    let (before, after) = writes.split_at(writes.partition_point(|(revision, ..)| revision <= shown));
    // Only revisions near that of the list can be on the wrong side.
    let near = 2_000;
    for (revision, call, _) in before.iter().rev().take(near) {
        if *call > listing.end {
            violations.push(format!("a list of revision {shown} was there before {revision} was asked for"));
        }
    }
    for (revision, _, end) in after.iter().take(near) {
        if *end < listing.call {
            violations
                .push(format!("a list of revision {shown} is stale: {revision} was answered before it"));
        }
    }
}

fn check_content(listings: &[Listing], log: &Log, violations: &mut Vec<String>) {
    let mut by_revision: Vec<&Listing> = listings.iter().collect();
    by_revision.sort_by_key(|listing| listing.revisions.first().copied());
    let mut changes = log.iter().peekable();
    let mut state: BTreeMap<&str, (Revision, &str)> = BTreeMap::new();
    for listing in by_revision {
        let Some(shown) = listing.revisions.first() else { continue };
        while let Some((revision, change)) = changes.next_if(|(revision, _)| *revision <= shown) {
            match &change.value {
                Some(value) => drop(state.insert(&change.key, (*revision, value))),
                None => drop(state.remove(change.key.as_str())),
            }
        }
        let covered = |key: &str| {
            listing.namespace.is_empty() || key.split('/').next() == Some(listing.namespace.as_str())
        };
        let expected: Vec<_> =
            state.iter().filter(|(key, _)| covered(key)).map(|(key, (r, v))| (*key, *r, *v)).collect();
        let found: Vec<_> = listing
            .items
            .iter()
            .map(|(key, revision, value)| (key.as_str(), *revision, value.as_str()))
            .collect();
        if found != expected {
            violations
                .push(format!("a list of revision {shown} shows {found:?}, what was there is {expected:?}"));
        }
    }
}
