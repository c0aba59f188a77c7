//! Waits for objects that providers hold back, and for data that providers hand over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::time::Instant;

use super::phases::Phases;
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::inventory::Held;
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::server::{Change, Server};

type Waiting = BTreeMap<Key, Held>;

/// Waits until no moving object is held back by its provider, and until providers have handed over their data; then reads the
/// source again if anything has changed. The wait for a hand-over is limited, because the provider may not be running: such objects
/// are `given_up`, with a finding for each.
pub(super) async fn wait_until_released(
    source: &Server,
    phases: &Phases,
    snapshot: &mut Snapshot,
    given_up: &mut BTreeSet<Key>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let began = source.clock().monotonic();
    let items = snapshot.inventory().items.iter();
    let mut waiting: Waiting = items.filter_map(|(key, item)| Some((key.clone(), item.held?))).collect();
    waiting.retain(|key, _| !given_up.contains(key));
    let (all, known) = (waiting.len(), given_up.len());
    let mut pause = limits::RETRY_PAUSE;
    let mut told = Vec::new();
    while !waiting.is_empty() {
        tell(phases, &waiting, &mut told);
        watch_until_released(source, phases, snapshot, &mut waiting, (began, &mut told)).await?;
        let late = take_late(&mut waiting, source.clock().monotonic() - began)?;
        findings.extend(late.iter().map(not_handed_over));
        given_up.extend(late);
        if !waiting.is_empty() {
            // The server or the network ended the watch.
            source.clock().sleep(pause).await;
            pause = (pause * 2).min(limits::HELD_PAUSE_MAX);
        }
    }
    if all > given_up.len() - known {
        snapshot.read_again(source).await?;
    }
    Ok(())
}

/// Removes released objects from `waiting`, until none is left, the time is up, or a watch ends. Whenever others are
/// held back, it tells which.
async fn watch_until_released(
    source: &Server,
    phases: &Phases,
    snapshot: &Snapshot,
    waiting: &mut Waiting,
    (began, told): (Instant, &mut Vec<String>),
) -> Result<()> {
    let mut changes = watches(source, snapshot, waiting).await?;
    while !waiting.is_empty() {
        tell(phases, waiting, told);
        let left = limit(waiting).saturating_sub(source.clock().monotonic() - began);
        if left.is_zero() {
            return Ok(());
        }
        let late = std::pin::pin!(source.clock().sleep(left));
        match select(changes.next(), late).await {
            Either::Left((Some((key, Some(held))), _)) => {
                waiting.entry(key).and_modify(|now| *now = held);
            }
            Either::Left((Some((key, None)), _)) => drop(waiting.remove(&key)),
            Either::Left((None, _)) => return Ok(()),
            Either::Right(_) => {}
        }
    }
    Ok(())
}

/// Tells which objects are held back, if these are others than it has told before. It is told before the first watch, which a server may be
/// slow to answer.
fn tell(phases: &Phases, waiting: &Waiting, told: &mut Vec<String>) {
    let blocked = blocked(waiting);
    if blocked != *told && !blocked.is_empty() {
        phases.waits_for(&blocked, names::BLOCK_MOVE);
    }
    *told = blocked;
}

/// Returns the changes of the objects that are waited for, from a watch for each kind and namespace. The stream ends when one of
/// the watches ends.
async fn watches(
    source: &Server,
    snapshot: &Snapshot,
    waiting: &Waiting,
) -> Result<BoxStream<'static, (Key, Option<Held>)>> {
    let mut places: BTreeMap<(usize, &str), Vec<&Key>> = BTreeMap::new();
    for key in waiting.keys() {
        if let Some(item) = snapshot.item(key) {
            places.entry((item.kind, &key.namespace)).or_default().push(key);
        }
    }
    let mut watches = Vec::new();
    for ((kind, namespace), keys) in places {
        let kind = snapshot.kind(kind).clone();
        let name = if let [key] = keys[..] { Some(key.name.as_str()) } else { None };
        let what = format!("watch {}", kind.resource());
        let changes = source.watch(&what, &kind.path(namespace), name).await?;
        watches.push(changes.map(move |change| state(&kind, &change)).chain(stream::iter([None])));
    }
    Ok(stream::select_all(watches)
        .take_while(|state| std::future::ready(state.is_some()))
        .filter_map(std::future::ready)
        .boxed())
}

/// Ends the wait when it has lasted too long: fails for objects that are still held back, and returns those that were not handed over.
fn take_late(waiting: &mut Waiting, waited: Duration) -> Result<BTreeSet<Key>> {
    let blocked = blocked(waiting);
    if !blocked.is_empty() && waited >= limits::BLOCK_MOVE_WAIT {
        return Err(Error::Blocked(format!(
            "providers still hold back {} (annotation {}); look at the logs of these providers, then --resume or --roll-back",
            blocked.join(", "),
            names::BLOCK_MOVE
        )));
    }
    if waited < limits::HAND_OVER_WAIT {
        return Ok(BTreeSet::new());
    }
    let late = waiting.extract_if(.., |_, held| *held == Held::HandsOver);
    Ok(late.map(|(key, _)| key).collect())
}

/// Returns the objects that a provider holds back.
fn blocked(waiting: &Waiting) -> Vec<String> {
    let blocked = waiting.iter().filter(|(_, held)| **held == Held::Blocked);
    blocked.map(|(key, _)| key.to_string()).collect()
}

/// Returns the time after which the wait for the first kind of objects is given up.
fn limit(waiting: &Waiting) -> Duration {
    let hands_over = waiting.values().any(|held| *held == Held::HandsOver);
    if hands_over { limits::HAND_OVER_WAIT } else { limits::BLOCK_MOVE_WAIT }
}

/// Returns the changed object, and why it still has to be waited for; `None` if the watch has failed.
fn state(kind: &Kind, change: &Change) -> Option<(Key, Option<Held>)> {
    let metadata = &change.object["metadata"];
    let key = Key {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: metadata["namespace"].as_str().unwrap_or_default().to_owned(),
        name: metadata["name"].as_str().filter(|_| change.kind != "ERROR")?.to_owned(),
    };
    let gone = change.kind == "DELETED";
    Some((key, Held::of(kind, &change.object).filter(|_| !gone)))
}

fn not_handed_over(key: &Key) -> Finding {
    Finding::warning(
        key,
        format!(
            "its provider did not hand over what it keeps outside of objects (annotation {})",
            names::HAND_OVER
        ),
        "nothing is to be done where the provider does not run at the source; it makes this anew at the target",
    )
}
