//! The transactions performed on a disk, and the checks of the disk afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use machinery::clock::Clock;
use machinery::random::Random;
use store::{
    CommitError, Embedded, EngineError, HistoryLimits, Key, Operation, Page, Prefix, Revision, Store,
};

use crate::disk::Recorder;

/// Short limits, so that the script trims the history all the time.
const LIMITS: HistoryLimits =
    HistoryLimits { revisions: 12, age: Duration::ZERO, memory: 4_000, ..HistoryLimits::DEFAULT };
const KEYS: u64 = 12;
/// The number of transactions between two pauses without writes.
const QUIET_EVERY: usize = 8;
/// Sizes of objects in bytes, from a few bytes to several pages.
const SIZES: [usize; 6] = [3, 40, 400, 3_400, 5_000, 20_000];

/// The objects that a store must contain, and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The store's revision.
    pub revision: Revision,
    /// Value and revision of each object.
    pub objects: BTreeMap<Key, (Bytes, Revision)>,
}

impl Expected {
    /// Returns the contents of an empty store.
    pub fn empty() -> Self {
        Self { revision: Revision::FIRST, objects: BTreeMap::new() }
    }

    fn of(store: &Store) -> Self {
        let snapshot = store.list(&Prefix::all(), &Page::default());
        let objects = snapshot.items.iter().map(|s| (s.key.clone(), (s.value.clone(), s.mod_revision)));
        Self { revision: snapshot.revision, objects: objects.collect() }
    }
}

/// A moment at which the store had acknowledged a transaction.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Number of disk accesses so far.
    pub accesses: usize,
    /// The contents that must be found from then on.
    pub expected: Expected,
}

/// Returns a disk with an empty store.
pub fn formatted() -> Recorder {
    let disk = Recorder::default();
    Embedded::format(&disk).unwrap();
    let recording = disk.recording();
    let image = recording.image(recording.moments() - 1, crate::disk::Cut::Lost, &Random::seeded(0));
    Recorder::new(image)
}

/// Opens the store on a disk.
///
/// # Errors
/// Returns the store's error about the disk.
pub async fn open(disk: &Recorder) -> Result<Store, EngineError> {
    let engine = Embedded::with_disk(disk.clone())?;
    let clock = Clock::simulated(DateTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
    Store::open_with(engine, clock, LIMITS).await
}

/// Returns a random transaction that the store accepts in the state `expected`.
fn transaction(expected: &Expected, step: usize, random: &Random) -> Vec<Operation> {
    let parts = if random.number().is_multiple_of(4) { 1 + random.number() % 6 } else { 1 };
    let mut used = Vec::new();
    let mut operations = Vec::new();
    for _ in 0..parts {
        let number = random.number() % KEYS;
        if used.contains(&number) {
            continue;
        }
        used.push(number);
        let key = Key::new("g.io", "things", Some("ns"), &format!("k{number}")).unwrap();
        let size = SIZES[usize::try_from(random.number() % SIZES.len() as u64).unwrap()];
        let value = move |revision: Revision| {
            let mut value = format!("{number}/{step}@{revision} ").into_bytes();
            // Incompressible data.
            let filler = Random::seeded(revision.0);
            value.extend(std::iter::repeat_with(|| filler.number().to_le_bytes()).take(size / 8).flatten());
            Bytes::from(value)
        };
        operations.push(match expected.objects.get(&key) {
            None => Operation::create(key, value),
            Some((_, at)) if random.number().is_multiple_of(4) => Operation::delete(key, *at, value),
            Some((_, at)) => Operation::update(key, *at, value),
        });
    }
    operations
}

/// Performs `steps` transactions and marks each acknowledgement. Ends early with the error if a transaction
/// fails.
pub async fn perform(
    store: &Store,
    disk: &Recorder,
    steps: usize,
    random: &Random,
) -> (Vec<Mark>, Option<CommitError>) {
    let mut marks = vec![Mark { accesses: disk.accesses(), expected: Expected::of(store) }];
    for step in 0..steps {
        if step % QUIET_EVERY == QUIET_EVERY - 1 {
            tokio::time::sleep(3 * store::limits::QUIET).await;
        } else {
            tokio::time::advance(store::limits::QUIET / 2).await;
        }
        let operations = transaction(&marks[marks.len() - 1].expected, step, random);
        let before = marks[marks.len() - 1].expected.revision;
        match store.commit(operations).await {
            Ok(events) => assert!(events[0].revision() > before, "a revision was used twice"),
            Err(error) => return (marks, Some(error)),
        }
        marks.push(Mark { accesses: disk.accesses(), expected: Expected::of(store) });
    }
    (marks, None)
}

/// Returns the states allowed on a disk that stopped at `moment`: everything acknowledged until then, and
/// optionally the whole transaction in progress.
pub fn admissible(marks: &[Mark], moment: usize) -> Vec<&Expected> {
    let answered = marks.iter().rposition(|mark| mark.accesses <= moment).unwrap_or(0);
    marks[answered..].iter().take(2).map(|mark| &mark.expected).collect()
}

/// Opens the disk, compares the contents, and checks that the store still works: write, close and reopen.
pub async fn check(disk: &Recorder, admissible: &[&Expected], go_on: bool, what: &str) {
    let store = open(disk).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = Expected::of(&store);
    assert!(
        admissible.iter().any(|expected| **expected == found),
        "{what}: found revision {}, admissible are {:?}",
        found.revision,
        admissible.iter().map(|expected| expected.revision).collect::<Vec<_>>()
    );
    let mut watcher = store.watch(&Prefix::all(), store.oldest()).unwrap();
    let mut events = 0;
    while watcher.try_next().unwrap().is_some() {
        events += 1;
    }
    assert_eq!(events, store.history_count(), "{what}");
    if !go_on {
        return;
    }
    let (marks, error) = perform(&store, disk, 2, &Random::seeded(1)).await;
    assert!(error.is_none(), "{what}: {error:?}");
    drop((store, watcher));
    let store = open(disk).await.unwrap_or_else(|error| panic!("{what}, opened again: {error}"));
    assert_eq!(Expected::of(&store), marks[2].expected, "{what}, opened again");
}
