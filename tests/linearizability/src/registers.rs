//! Linearizability of each object: there is an order of the requests, each between its call and its response,
//! in which a register gives the same responses.
//!
//! The search is Lowe's: a request is put in order as late as possible, when a response requires it. Between
//! two moments all possible states of the register are kept, together with the unanswered requests that led
//! to each.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Answer, Listing, Moment, Operation, Request, Revision};

/// Revision and value, if the object exists.
type State = Option<(Revision, String)>;
/// A state, and the requests that have taken effect but are not answered yet.
type Possible = (State, BTreeSet<usize>);

/// Checks every key.
pub fn check(operations: &[Operation], listings: &[Listing], violations: &mut Vec<String>) {
    let mut by_key: BTreeMap<&str, Vec<Operation>> = BTreeMap::new();
    for operation in operations {
        by_key.entry(&operation.key).or_default().push(operation.clone());
    }
    for (key, operations) in &mut by_key {
        operations.extend(listings.iter().filter_map(|listing| as_read(listing, key)));
        violations.extend(check_key(operations));
    }
}

/// Returns the read of one key that a list implies.
fn as_read(listing: &Listing, key: &str) -> Option<Operation> {
    let namespace = key.split('/').next().unwrap_or_default();
    if !listing.namespace.is_empty() && listing.namespace != namespace {
        return None;
    }
    let item = listing.items.iter().find(|(name, ..)| name == key);
    let answer = item.map_or(Answer::Missing, |(_, revision, value)| Answer::Found(*revision, value.clone()));
    let (call, end) = (listing.call, listing.end);
    Some(Operation { key: key.to_owned(), call, end, request: Request::Read, answer })
}

fn check_key(operations: &[Operation]) -> Option<String> {
    let mut moments: Vec<(Moment, bool, usize)> = Vec::with_capacity(operations.len() * 2);
    for (index, operation) in operations.iter().enumerate() {
        moments.push((operation.call, false, index));
        moments.push((operation.end, true, index));
    }
    moments.sort_unstable();
    let mut pending = BTreeSet::new();
    let mut possible: BTreeSet<Possible> = BTreeSet::from([(None, BTreeSet::new())]);
    for (_, answered, index) in moments {
        if !answered {
            pending.insert(index);
            continue;
        }
        let next = answer(operations, &pending, &possible, index);
        if next.is_empty() {
            let states: Vec<&State> = possible.iter().map(|(state, _)| state).take(4).collect();
            return Some(format!(
                "not linearizable: {:?}; the object could be {states:?}",
                operations[index]
            ));
        }
        pending.remove(&index);
        possible = next;
    }
    None
}

/// Returns the possibilities after the request `index` was answered.
fn answer(
    operations: &[Operation],
    pending: &BTreeSet<usize>,
    possible: &BTreeSet<Possible>,
    index: usize,
) -> BTreeSet<Possible> {
    let mut result = BTreeSet::new();
    let mut seen: BTreeSet<Possible> = possible.clone();
    let mut open: Vec<Possible> = possible.iter().cloned().collect();
    while let Some((state, done)) = open.pop() {
        if done.contains(&index) {
            let mut done = done;
            done.remove(&index);
            result.insert((state, done));
            continue;
        }
        for candidate in pending.difference(&done) {
            let Some(state) = step(&state, &operations[*candidate]) else { continue };
            let mut done = done.clone();
            done.insert(*candidate);
            if seen.insert((state.clone(), done.clone())) {
                open.push((state, done));
            }
        }
    }
    result
}

/// Returns the register after the operation; `None` if the operation could not have got this response.
fn step(state: &State, operation: &Operation) -> Option<State> {
    let revision = state.as_ref().map(|(revision, _)| *revision);
    let unchanged = |holds: bool| holds.then(|| state.clone());
    match (&operation.request, &operation.answer) {
        (Request::Create(value), Answer::Written(new)) => {
            revision.is_none().then(|| Some((*new, value.clone())))
        }
        (Request::Create(_), Answer::Exists) => unchanged(revision.is_some()),
        (Request::Update(expected, value), Answer::Written(new)) => {
            (revision == Some(*expected) && new > expected).then(|| Some((*new, value.clone())))
        }
        (Request::Patch(value), Answer::Written(new)) => {
            revision.is_some_and(|revision| *new > revision).then(|| Some((*new, value.clone())))
        }
        (Request::Delete(expected), Answer::Deleted) => (revision == Some(*expected)).then_some(None),
        (Request::Update(expected, _) | Request::Delete(expected), Answer::Conflict) => {
            unchanged(revision.is_some_and(|revision| revision != *expected))
        }
        // The server retries a patch a few times before it reports a conflict.
        (Request::Patch(_), Answer::Conflict) => unchanged(true),
        (_, Answer::Missing) => unchanged(revision.is_none()),
        (Request::Read, Answer::Found(found, value)) => {
            unchanged(state.as_ref().is_some_and(|(revision, there)| revision == found && there == value))
        }
        _ => None,
    }
}
