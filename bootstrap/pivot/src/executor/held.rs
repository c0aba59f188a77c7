//! Waiting for objects that providers hold back, and for what they hand over.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::stream::{self, StreamExt, TryStreamExt};

use super::{Pivot, Work};
use crate::error::{Error, Result};
use crate::inventory::{Held, Inventory};
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::preflight::Finding;
use crate::progress::Phase;

type Waiting = BTreeMap<Key, Held>;

impl Pivot {
    /// Waits until no object that moves is held back by its provider and all is ready that providers hand over; reads the source again
    /// where that has happened. Who only hands over is not waited for for ever: it may not run.
    pub(super) async fn wait_until_released(&mut self, work: &mut Work) -> Result<()> {
        let began = self.begin(Phase::Pause);
        let mut pause = limits::HELD_PAUSE;
        let items = work.inventory.items.iter();
        let mut waiting: Waiting = items.filter_map(|(key, item)| Some((key.clone(), item.held?))).collect();
        waiting.retain(|key, _| !work.given_up.contains(key));
        let mut released = false;
        while !waiting.is_empty() {
            self.source.clock().sleep(pause).await;
            pause = (pause * 2).min(limits::HELD_PAUSE_MAX);
            let still = self.still_held(work, &waiting).await?;
            released |= still.len() < waiting.len();
            waiting = still;
            let waited = self.source.clock().monotonic() - began;
            let blocked = |(key, held): (&Key, &Held)| (*held == Held::Blocked).then(|| key.to_string());
            let blocked: Vec<String> = waiting.iter().filter_map(blocked).collect();
            if !blocked.is_empty() && waited >= limits::BLOCK_MOVE_WAIT {
                return Err(Error::Blocked(format!(
                    "providers still hold back {} (annotation {}); look at the logs of these providers, then --resume or --roll-back",
                    blocked.join(", "),
                    names::BLOCK_MOVE
                )));
            }
            if waited >= limits::HAND_OVER_WAIT {
                let late: BTreeSet<Key> = waiting
                    .iter()
                    .filter(|(_, held)| **held == Held::HandsOver)
                    .map(|(key, _)| key.clone())
                    .collect();
                waiting.retain(|key, _| !late.contains(key));
                self.report.findings.extend(late.iter().map(not_handed_over));
                work.given_up.extend(late);
            }
        }
        self.end(Phase::Pause, began);
        if released {
            // Two inventories at once would not fit where there are many objects.
            work.inventory = Inventory::default();
            work.inventory = work.discovery.inventory(&self.source, &work.scope).await?;
        }
        Ok(())
    }

    /// Those that still wait, by what they say now.
    async fn still_held(&self, work: &Work, waiting: &Waiting) -> Result<Waiting> {
        let mut places: BTreeSet<(usize, &str)> = BTreeSet::new();
        for key in waiting.keys() {
            if let Some(item) = work.inventory.items.get(key) {
                places.insert((item.kind, &key.namespace));
            }
        }
        let lists: Vec<_> =
            places.into_iter().map(|(kind, namespace)| self.held(work, kind, namespace)).collect();
        let held: Vec<HashMap<Key, Held>> =
            stream::iter(lists).buffered(limits::IN_FLIGHT).try_collect().await?;
        let held: HashMap<Key, Held> = held.into_iter().flatten().collect();
        Ok(waiting.keys().filter_map(|key| Some((key.clone(), *held.get(key)?))).collect())
    }

    async fn held(&self, work: &Work, kind: usize, namespace: &str) -> Result<HashMap<Key, Held>> {
        let kind = work.kind(kind);
        let what = format!("list {}", kind.resource());
        let objects = self.source.list_metadata(&what, &kind.path(namespace)).await?;
        let key = |name: &str| Key {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let held = objects
            .iter()
            .filter_map(|object| Some((key(object["metadata"]["name"].as_str()?), Held::of(object)?)));
        Ok(held.collect())
    }
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
