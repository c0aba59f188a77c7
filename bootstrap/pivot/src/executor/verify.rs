//! Reads all copies back from the target, and compares them with the source.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::phases::Phases;
use super::snapshot::Snapshot;
use crate::comparison::Comparison;
use crate::desired::{Identities, desired};
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::inventory::Inventory;
use crate::journal::{Journal, Record, State, Verified};
use crate::limits;
use crate::normal::normal;
use crate::object::{Key, Object};
use crate::preflight::lists;
use crate::progress::Phase;
use crate::server::{Page, Server};

/// The result of a list: the compared objects, and the differences of some of them.
#[derive(Default)]
struct Seen {
    keys: Vec<Key>,
    different: Vec<(Key, String)>,
    added: Vec<(Key, Vec<String>)>,
}

/// The result of a comparison of all copies.
pub(super) struct Compared {
    /// The objects that are not as wanted at the target, with their differences.
    pub(super) different: Vec<(Key, String)>,
    /// What the target added to the copies; nothing is said of it while there are differences.
    pub(super) findings: Vec<Finding>,
}

/// Compares all copies. If there are no differences, the journal records the verification.
pub(super) async fn verify(
    target: &Server,
    journal: &mut Journal,
    phases: &Phases,
    snapshot: &Snapshot,
    identities: &Identities,
) -> Result<Compared> {
    let (inventory, state) = (snapshot.inventory(), journal.state());
    let reading: Vec<BoxFuture<'_, Result<Seen>>> = lists(inventory)
        .into_iter()
        .map(|(kind, namespace)| compare(target, state, snapshot, identities, kind, namespace).boxed())
        .collect();
    let all: Vec<Seen> = stream::iter(reading).buffered(limits::IN_FLIGHT).try_collect().await?;
    let seen: BTreeSet<&Key> = all.iter().flat_map(|seen| &seen.keys).collect();
    let mut different: Vec<(Key, String)> =
        all.iter().flat_map(|seen| seen.different.iter().cloned()).collect();
    let missing = inventory.items.keys().filter(|key| !seen.contains(key));
    different.extend(missing.map(|key| (key.clone(), "it is missing".to_owned())));
    different.sort();
    phases.at(Phase::Verify, seen.len(), inventory.items.len());
    let mut findings = Vec::new();
    if different.is_empty() {
        findings = additions(all.into_iter().flat_map(|seen| seen.added));
        let verified = verified(inventory, state);
        journal.append(Record::Verified(verified))?;
    }
    Ok(Compared { different, findings })
}

fn verified(inventory: &Inventory, state: &State) -> Vec<Verified> {
    inventory
        .plan
        .steps()
        .filter(|step| !state.left.contains_key(&step.object))
        .filter_map(|step| inventory.items.get(&step.object))
        .map(|item| Verified {
            object: item.object.key.clone(),
            resource_version: item.object.resource_version.clone(),
            fingerprint: item.fingerprint,
        })
        .collect()
}

async fn compare(
    target: &Server,
    state: &State,
    snapshot: &Snapshot,
    identities: &Identities,
    kind: usize,
    namespace: &str,
) -> Result<Seen> {
    let kind = snapshot.kind(kind);
    let what = format!("list {}", kind.resource());
    let mut seen = Seen::default();
    let mut last: Option<Page> = None;
    while let Some(mut page) = target.page(&what, &kind.path(namespace), last.as_ref()).await? {
        for item in std::mem::take(&mut page.items) {
            let unreadable = |source| Error::Answer { server: target.role(), what: what.clone(), source };
            let (there, value) = Object::parse(kind, item.get()).map_err(unreadable)?;
            let Some(item) = snapshot.item(&there.key) else { continue };
            if !state.left.contains_key(&there.key) {
                let wanted = desired(item, state.before.get(&there.key), identities);
                let found = Comparison::of(&normal(wanted.object), &normal(value));
                seen.different.extend(found.difference.map(|found| (there.key.clone(), found)));
                if !found.added.is_empty() {
                    seen.added.push((there.key.clone(), found.added));
                }
            }
            seen.keys.push(there.key);
        }
        last = Some(page);
    }
    Ok(seen)
}

/// Returns a finding for each kind and set of paths that the target added.
fn additions(added: impl Iterator<Item = (Key, Vec<String>)>) -> Vec<Finding> {
    let mut alike: BTreeMap<(String, String, Vec<String>), (Key, usize)> = BTreeMap::new();
    for (key, paths) in added {
        let (_, count) =
            alike.entry((key.group.clone(), key.kind.clone(), paths)).or_insert_with(|| (key, 0));
        *count += 1;
    }
    alike
        .into_iter()
        .map(|((_, _, paths), (first, count))| {
            let object = match count {
                1 => first.to_string(),
                _ => format!("{first} and {} more", count - 1),
            };
            Finding::warning(
                object,
                format!("added by the target: {}", paths.join(", ")),
                "nothing is to be done where its defaults and webhooks are meant to",
            )
        })
        .collect()
}
