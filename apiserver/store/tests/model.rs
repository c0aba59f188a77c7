//! The store compared with a model: a list of all changes, from which state, history and events are computed in a
//! simple way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use machinery::clock::Clock;
use proptest::prelude::*;
use store::testing::{Fault, Faulty};
use store::*;

const KEYS: usize = 5;
/// The memory limit holds about three of the values (`write-17`).
const LIMITS: HistoryLimits =
    HistoryLimits { revisions: 8, age: Duration::from_secs(30), memory: 24, ..HistoryLimits::DEFAULT };

#[derive(Clone, Debug)]
enum Step {
    /// Each part consists of key, kind (0 create, 1 update, 2 delete) and whether the expected revision is right.
    Commit(Vec<(usize, u8, bool)>),
    Watch {
        key: Option<usize>,
        back: u64,
    },
    DropWatch(usize),
    Drain(usize),
    ListAt {
        back: u64,
        start_after: Option<usize>,
        limit: Option<usize>,
    },
    Advance(u64),
    Full,
    Crash {
        written: bool,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let part = (0..KEYS, 0..3u8, prop::bool::weighted(0.9));
    prop_oneof![
        12 => prop::collection::vec(part, 1..4).prop_map(Step::Commit),
        3 => (prop::option::of(0..KEYS), 0..20u64).prop_map(|(key, back)| Step::Watch { key, back }),
        1 => (0..4usize).prop_map(Step::DropWatch),
        4 => (0..4usize).prop_map(Step::Drain),
        4 => (0..20u64, prop::option::of(0..KEYS), prop::option::of(0..4usize))
            .prop_map(|(back, start_after, limit)| Step::ListAt { back, start_after, limit }),
        3 => (1..40u64).prop_map(Step::Advance),
        1 => Just(Step::Full),
        1 => any::<bool>().prop_map(|written| Step::Crash { written }),
        2 => Just(Step::Restart),
    ]
}

fn key(number: usize) -> Key {
    let namespace = if number.is_multiple_of(2) { "even" } else { "odd" };
    Key::new("g.io", "things", Some(namespace), &format!("k{number}")).unwrap()
}

#[derive(Clone, Debug, PartialEq)]
struct Happened {
    revision: u64,
    key: Key,
    deleted: bool,
    value: String,
    create: u64,
}

#[derive(Clone, Default)]
struct Model {
    all: Vec<Happened>,
}

impl Model {
    fn at(&self, revision: u64) -> BTreeMap<Key, Happened> {
        let mut state = BTreeMap::new();
        for happened in self.all.iter().filter(|happened| happened.revision <= revision) {
            if happened.deleted {
                state.remove(&happened.key);
            } else {
                state.insert(happened.key.clone(), happened.clone());
            }
        }
        state
    }
}

fn matches(stored: &Stored, happened: &Happened) -> bool {
    stored.key == happened.key
        && stored.value == happened.value.as_bytes()
        && stored.mod_revision.0 == happened.revision
        && stored.create_revision.0 == happened.create
}

struct Watching {
    watcher: Watcher,
    prefix: Prefix,
    seen: u64,
}

struct Fixture {
    memory: Memory,
    engine: Faulty,
    clock: Clock,
    store: Store,
    model: Model,
    watching: Vec<Watching>,
    writes: u64,
    highest: u64,
}

impl Fixture {
    async fn new() -> Self {
        let memory = Memory::new();
        let engine = Faulty::new(memory.clone());
        let clock = Clock::simulated(DateTime::UNIX_EPOCH);
        let store = Store::open_with(engine.clone(), clock.clone(), LIMITS).await.unwrap();
        Self {
            memory,
            engine,
            clock,
            store,
            model: Model::default(),
            watching: Vec::new(),
            writes: 0,
            highest: 1,
        }
    }

    async fn restart(&mut self) {
        self.drain_all();
        self.watching.clear();
        self.engine = Faulty::new(self.memory.clone());
        self.store = Store::open_with(self.engine.clone(), self.clock.clone(), LIMITS).await.unwrap();
    }

    /// Returns the effects of the transaction in the model, or `None` if a precondition does not hold.
    fn plan(&mut self, parts: &[(usize, u8, bool)]) -> (Vec<Operation>, Option<Vec<Happened>>) {
        let mut state = self.model.at(u64::MAX);
        let (mut operations, mut happened, mut holds) = (Vec::new(), Vec::new(), true);
        for (number, kind, right) in parts {
            self.writes += 1;
            let (key, text) = (key(*number), format!("write-{}", self.writes));
            let current = state.get(&key).cloned();
            // A caller cannot expect a revision of its own transaction, because it does not know it.
            let known =
                current.as_ref().filter(|current| current.revision != u64::MAX).map_or(0, |c| c.revision);
            let expected = Revision(if *right { known } else { known + 1_000 });
            let bytes = text.clone();
            let value = move |_| Bytes::from(bytes);
            let fits = current.as_ref().is_some_and(|current| current.revision == expected.0);
            operations.push(match kind {
                0 => Operation::create(key.clone(), value),
                1 => Operation::update(key.clone(), expected, value),
                _ => Operation::delete(key.clone(), expected, value),
            });
            holds &= if *kind == 0 { current.is_none() } else { fits };
            let create = current.map_or(u64::MAX, |current| current.create);
            let next =
                Happened { revision: u64::MAX, key: key.clone(), deleted: *kind == 2, value: text, create };
            if next.deleted {
                state.remove(&key);
            } else {
                state.insert(key, next.clone());
            }
            happened.push(next);
        }
        (operations, holds.then_some(happened))
    }

    fn accept(&mut self, mut happened: Vec<Happened>, first: u64) {
        for (next, revision) in happened.iter_mut().zip(first..) {
            next.revision = revision;
            if next.create == u64::MAX {
                // An earlier part of this transaction may have created the object.
                let earlier = self.model.all.iter().rev().find(|earlier| earlier.key == next.key);
                next.create =
                    earlier.filter(|e| !e.deleted && e.revision >= first).map_or(revision, |e| e.create);
            }
            self.model.all.push(next.clone());
        }
    }

    async fn commit(&mut self, parts: &[(usize, u8, bool)]) {
        let (operations, planned) = self.plan(parts);
        match (self.store.commit(operations).await, planned) {
            (Ok(events), Some(happened)) => {
                let first = events[0].revision().0;
                assert!(first > self.highest, "revision {first} was used before");
                self.highest = first + happened.len() as u64 - 1;
                self.accept(happened, first);
                assert_eq!(self.store.revision().0, self.highest);
            }
            (Err(error), None) => assert!(!matches!(error, CommitError::Full(_) | CommitError::Poisoned(_))),
            (result, planned) => panic!("{result:?}, the model says {planned:?}"),
        }
    }

    async fn fail(&mut self, fault: Fault) {
        self.engine.fail(self.engine.commits() + 1, fault);
        let free = (0..KEYS).find(|number| self.store.get(&key(*number)).is_none());
        let (parts, before) =
            (free.map_or(vec![(0, 1, true)], |free| vec![(free, 0, true)]), self.store.revision());
        let (operations, planned) = self.plan(&parts);
        let error = self.store.commit(operations).await.unwrap_err();
        assert_eq!(self.store.revision(), before, "a failed write is not seen");
        self.check_state().await;
        if fault == Fault::Full {
            assert!(matches!(error, CommitError::Full(_)), "{error}");
            return;
        }
        assert!(matches!(error, CommitError::Poisoned(_)), "{error}");
        self.restart().await;
        if fault == Fault::Written {
            self.highest = self.store.revision().0;
            self.accept(planned.unwrap(), self.highest);
        }
    }

    fn watch(&mut self, only: Option<usize>, back: u64) {
        let prefix = match only {
            Some(number) if number % 2 == 0 => Prefix::object(&key(number)),
            Some(_) => Prefix::namespace("g.io", "things", "odd").unwrap(),
            None => Prefix::all(),
        };
        let from = self.store.revision().0.saturating_sub(back);
        match self.store.watch(&prefix, Revision(from)) {
            Ok(watcher) => self.watching.push(Watching { watcher, prefix, seen: from }),
            Err(HistoryError::Compacted { oldest, .. }) => self.check_compaction(from, oldest),
            Err(error) => panic!("{error}"),
        }
    }

    /// Checks that no revision within the limits is refused.
    fn check_compaction(&self, refused: u64, oldest: Revision) {
        assert!(refused < oldest.0);
        let newer = self.model.all.iter().filter(|happened| happened.revision > refused).count() as u64;
        assert!(
            refused < 1 || self.store.revision().0 - refused >= LIMITS.revisions,
            "{newer} revisions back"
        );
    }

    fn drain(&mut self, index: usize) {
        let Some(watching) = self.watching.get_mut(index) else { return };
        let mut expected =
            self.model.all.iter().filter(|happened| {
                happened.revision > watching.seen && watching.prefix.covers(&happened.key)
            });
        let end = loop {
            let event = match watching.watcher.try_next() {
                Ok(Some(event)) => event,
                Ok(None) | Err(WatchEnd::Stopped) => break None,
                Err(end) => break Some(end),
            };
            let happened = expected.next().expect("an event that never happened");
            assert!(matches(&event.object, happened), "{event:?}, the model says {happened:?}");
            let before = self.model.at(happened.revision - 1).remove(&happened.key);
            match (&event.prev, &before) {
                (Some(prev), Some(before)) => assert!(matches(prev, before), "{prev:?} {before:?}"),
                (None, None) => {}
                other => panic!("{other:?}"),
            }
            let kind = match (happened.deleted, before) {
                (true, _) => EventKind::Deleted,
                (false, None) => EventKind::Added,
                (false, Some(_)) => EventKind::Modified,
            };
            assert_eq!(event.kind, kind);
        };
        if end.is_some() {
            // A batch with unknown outcome may have dropped more than the store reports, and it is unknown whether this
            // concerned the prefix.
            let dropped = self.memory.load().unwrap().compacted.max(self.store.oldest());
            assert!(watching.watcher.progress() < dropped, "{end:?}, but all that follows is in the history");
            self.watching.remove(index);
            return;
        }
        assert_eq!(expected.next(), None, "an event is missing");
        assert_eq!(watching.watcher.progress(), self.store.revision().max(Revision(watching.seen)));
        watching.seen = watching.watcher.progress().0;
    }

    fn drain_all(&mut self) {
        // The order is reversed, because watchers that have ended are removed.
        for index in (0..self.watching.len()).rev() {
            self.drain(index);
        }
    }

    async fn list_at(&self, back: u64, start_after: Option<usize>, limit: Option<usize>) {
        let revision = Revision(self.store.revision().0.saturating_sub(back));
        let page = Page { start_after: start_after.map(key), limit };
        let snapshot = match self.store.list_at(&Prefix::all(), revision, &page).await {
            Ok(snapshot) => snapshot,
            Err(HistoryError::Compacted { oldest, .. }) => return self.check_compaction(revision.0, oldest),
            Err(error) => panic!("{error}"),
        };
        let mut expected: Vec<Happened> = self.model.at(revision.0).into_values().collect();
        expected.retain(|happened| page.start_after.as_ref().is_none_or(|after| happened.key > *after));
        let shown = expected.len().min(limit.unwrap_or(usize::MAX));
        assert_eq!((snapshot.items.len(), snapshot.remaining), (shown, expected.len() - shown));
        for (stored, happened) in snapshot.items.iter().zip(&expected) {
            assert!(matches(stored, happened), "{stored:?}, the model says {happened:?}");
        }
    }

    async fn check_state(&self) {
        self.list_at(0, None, None).await;
        let state = self.model.at(u64::MAX);
        for number in 0..KEYS {
            let stored = self.store.get(&key(number));
            assert_eq!(stored.is_some(), state.contains_key(&key(number)));
        }
        let listed = self.store.list(&Prefix::all(), &Page::default());
        assert_eq!(listed.items.len(), state.len());
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Commit(parts) => self.commit(&parts).await,
            Step::Watch { key, back } => self.watch(key, back),
            Step::DropWatch(index) if index < self.watching.len() => drop(self.watching.remove(index)),
            Step::DropWatch(_) => {}
            Step::Drain(index) => self.drain(index),
            Step::ListAt { back, start_after, limit } => self.list_at(back, start_after, limit).await,
            Step::Advance(seconds) => self.clock.sleep(Duration::from_secs(seconds)).await,
            Step::Full => self.fail(Fault::Full).await,
            Step::Crash { written } => self.fail(if written { Fault::Written } else { Fault::Lost }).await,
            Step::Restart => self.restart().await,
        }
        self.check_state().await;
    }
}

fn run(steps: Vec<Step>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut fixture = Fixture::new().await;
        for step in steps {
            fixture.step(step).await;
        }
        fixture.drain_all();
    });
}

/// The watch has not read events that the last batch drops, and the outcome of that batch is unknown.
#[test]
fn a_batch_of_unknown_outcome_may_end_a_watch_of_what_it_dropped() {
    let create = |key| Step::Commit(vec![(key, 0, false)]);
    let update = |keys: &[usize]| Step::Commit(keys.iter().map(|key| (*key, 1, true)).collect());
    run(vec![
        create(4),
        create(3),
        create(1),
        update(&[1]),
        create(0),
        Step::Advance(31),
        update(&[0]),
        update(&[4, 0]),
        update(&[3, 0]),
        Step::Watch { key: None, back: 7 },
        update(&[0]),
        Step::Crash { written: true },
    ]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        run(steps);
    }
}
