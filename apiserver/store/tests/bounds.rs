//! The limits of a store: queued events, history and total size, and the operations that remain possible when they are
//! reached.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bytes::Bytes;
use chrono::DateTime;
use machinery::clock::Clock;
use store::*;

const KILO: usize = 1 << 10;

fn key(name: &str) -> Key {
    Key::new("g.io", "things", Some("ns"), name).unwrap()
}

fn clock() -> Clock {
    Clock::simulated(DateTime::UNIX_EPOCH)
}

fn bytes(length: usize) -> impl FnOnce(Revision) -> Bytes + Send + 'static {
    // The value cannot be compressed on disk.
    let random = machinery::random::Random::seeded(length as u64);
    let value: Vec<u8> = std::iter::repeat_with(|| random.number() as u8).take(length).collect();
    move |_| value.into()
}

async fn put(store: &Store, name: &str, length: usize) -> Result<Revision, CommitError> {
    let operation = match store.get(&key(name)) {
        Some(now) => Operation::update(key(name), now.mod_revision, bytes(length)),
        None => Operation::create(key(name), bytes(length)),
    };
    Ok(store.commit(vec![operation]).await?[0].revision())
}

async fn delete(store: &Store, name: &str) -> Result<Revision, CommitError> {
    let expected = store.get(&key(name)).unwrap().mod_revision;
    let operation = Operation::Delete { key: key(name), expected, last: None };
    Ok(store.commit(vec![operation]).await?[0].revision())
}

/// Reads all events and checks that no revision is missing.
fn read_all(watcher: &mut Watcher, mut last: Revision) -> Result<Revision, WatchEnd> {
    while let Some(event) = watcher.try_next()? {
        assert_eq!(event.revision(), last.next());
        last = event.revision();
    }
    assert_eq!(watcher.progress(), last);
    Ok(last)
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_behind_goes_on_from_the_history() {
    for beyond in [-1, 0, 1, 5_000] {
        let store = Store::open(Memory::new(), clock()).await.unwrap();
        let mut slow = store.watch(&Prefix::all(), Revision(1)).unwrap();
        let mut quick = store.watch(&Prefix::all(), Revision(1)).unwrap();
        for _ in 0..limits::WATCH_QUEUE_EVENTS as i64 + beyond {
            put(&store, "a", 10).await.unwrap();
            quick.next().await.unwrap();
        }
        assert_eq!(store.watcher_count(), 2);
        assert_eq!(slow.progress(), Revision(1));
        let last = read_all(&mut slow, Revision(1)).unwrap();
        assert_eq!(last, store.revision(), "{beyond} beyond the limit");
        assert_eq!(store.overflows().events, u64::from(beyond > 0), "{beyond} beyond the limit");
        put(&store, "a", 10).await.unwrap();
        assert_eq!(slow.next().await.unwrap().revision(), store.revision());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_out_of_the_history_is_ended_and_others_go_on() {
    let limits = HistoryLimits { revisions: 10, age: std::time::Duration::ZERO, ..HistoryLimits::DEFAULT };
    let clock = clock();
    let store = Store::open_with(Memory::new(), clock.clone(), limits).await.unwrap();
    let mut slow = store.watch(&Prefix::all(), Revision(1)).unwrap();
    let mut quick = store.watch(&Prefix::all(), Revision(1)).unwrap();
    for _ in 0..2 * limits::WATCH_QUEUE_EVENTS {
        put(&store, "a", 10).await.unwrap();
        clock.sleep(std::time::Duration::from_secs(1)).await;
        quick.next().await.unwrap();
    }
    assert_eq!(slow.next().await.unwrap_err(), WatchEnd::TooSlow);
    assert_eq!(slow.next().await.unwrap_err(), WatchEnd::TooSlow);
    drop((slow, quick));
    assert_eq!(store.watcher_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_watchers_is_counted_once_and_bounded() {
    let store = Store::open(Memory::new(), clock()).await.unwrap();
    let mut watchers: Vec<_> = (0..20).map(|_| store.watch(&Prefix::all(), Revision(1)).unwrap()).collect();
    const EACH: usize = 1 << 20;
    for number in 1..=limits::WATCH_QUEUES_BYTES / EACH {
        put(&store, "a", EACH).await.unwrap();
        assert_eq!(store.queued_bytes(), number * EACH, "at the limit everything waits");
        assert_eq!(store.overflows().bytes, 0);
    }
    put(&store, "a", EACH).await.unwrap();
    assert_eq!(store.queued_bytes(), 0, "above it everybody goes on from the history");
    assert_eq!(store.overflows().bytes, 1);
    for watcher in &mut watchers {
        assert_eq!(read_all(watcher, Revision(1)).unwrap(), store.revision());
    }
    put(&store, "a", EACH).await.unwrap();
    assert_eq!(store.queued_bytes(), EACH);
    drop(watchers);
    assert_eq!(store.queued_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_history_in_memory_is_bounded_in_bytes() {
    let store = Store::open(Memory::new(), clock()).await.unwrap();
    const EACH: usize = 1 << 20;
    for _ in 0..3 * limits::MEMORY_HISTORY_BYTES / EACH {
        put(&store, "a", EACH).await.unwrap();
        assert!(store.size().rows <= (limits::MEMORY_HISTORY_BYTES + 3 * EACH) as u64, "{:?}", store.size());
    }
    assert!(store.history_count() >= limits::MEMORY_HISTORY_BYTES / EACH - 1);
}

async fn with_quota(directory: &tempfile::TempDir, quota: usize) -> Store {
    let limits = HistoryLimits { quota: quota as u64, ..HistoryLimits::DEFAULT };
    loop {
        match DataDirectory::open(directory.path()) {
            Ok(locked) => {
                return Store::open_with(Embedded::open(&locked).unwrap(), Clock::system(), limits)
                    .await
                    .unwrap();
            }
            // The task of the last commit has not ended.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Fills a store up to its quota and returns the number of objects.
async fn fill(store: &Store, each: usize) -> usize {
    for number in 0.. {
        match put(store, &format!("n-{number}"), each).await {
            Ok(_) => {}
            Err(CommitError::Quota { used, quota }) => {
                assert!(used <= quota, "{used} of {quota}");
                return number;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_spent_quota_refuses_writes_and_deletions_are_the_way_out() {
    const QUOTA: usize = 16 << 20;
    let directory = tempfile::tempdir().unwrap();
    let store = with_quota(&directory, QUOTA).await;
    assert!(!store.alarm());
    let fitted = fill(&store, 100 * KILO).await;
    assert!(store.alarm() && store.health().is_ok());
    assert!((100..=128).contains(&fitted), "{fitted}");
    assert!(store.size().file <= 3 * QUOTA as u64, "{:?}", store.size());
    // Updates that do not enlarge an object and steps of deletions remain possible.
    put(&store, "n-0", 90 * KILO).await.unwrap();
    let now = store.get(&key("n-1")).unwrap().mod_revision;
    store.commit(vec![Operation::removal(key("n-1"), now, bytes(100 * KILO + 200))]).await.unwrap();
    let error = put(&store, "n-2", 101 * KILO).await.unwrap_err().to_string();
    assert!(error.starts_with("etcdserver: mvcc: database space exceeded"), "{error}");
    // The store is as full after a restart.
    drop(store);
    let store = with_quota(&directory, QUOTA).await;
    put(&store, "more", 2 * QUOTA / 16).await.unwrap_err();
    for number in 0..fitted / 2 {
        delete(&store, &format!("n-{number}")).await.unwrap();
    }
    // Later writes remove deleted objects from the history.
    put(&store, "more", KILO).await.unwrap();
    assert!(!store.alarm());
    let more = fill(&store, 50 * KILO).await;
    assert!(more > 0);
}

/// Values are compressed on the disk, and not in memory.
#[tokio::test]
async fn the_quota_counts_what_memory_holds() {
    const QUOTA: usize = 8 << 20;
    const EACH: usize = 100 * KILO;
    let directory = tempfile::tempdir().unwrap();
    let store = with_quota(&directory, QUOTA).await;
    let same = |_| Bytes::from(vec![b'x'; EACH]);
    let write = async |store: &Store, number: usize| {
        store.commit(vec![Operation::create(key(&format!("n-{number}")), same)]).await
    };
    let mut fitted = 0;
    let error = loop {
        match write(&store, fitted).await {
            Ok(_) => fitted += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CommitError::Quota { .. }), "{error}");
    assert!((QUOTA / EACH - 3..=QUOTA / EACH).contains(&fitted), "{fitted}");
    assert!(store.size().rows < QUOTA as u64 / 4, "{:?}", store.size());
    let used = store.used();
    assert!(used > (fitted * EACH) as u64);
    assert!(store.alarm());
    drop(store);
    let store = with_quota(&directory, QUOTA).await;
    assert_eq!(store.used(), used, "the same after a restart");
    assert_eq!(store.count(&Prefix::namespace("g.io", "things", "ns").unwrap()), fitted);
    write(&store, fitted).await.unwrap_err();
    for number in 0..fitted / 2 {
        delete(&store, &format!("n-{number}")).await.unwrap();
    }
    assert_eq!(store.count(&Prefix::resource("g.io", "things").unwrap()), fitted - fitted / 2);
    write(&store, fitted).await.unwrap();
    assert!(!store.alarm());
}

/// Updates during a deletion may exceed the quota, but not without a limit, as for an object whose deletion never ends.
#[tokio::test]
async fn steps_of_deletions_have_a_limit_of_their_own() {
    const QUOTA: usize = 4 << 20;
    let directory = tempfile::tempdir().unwrap();
    let store = with_quota(&directory, QUOTA).await;
    fill(&store, 100 * KILO).await;
    let mut length = 100 * KILO;
    let refused = loop {
        length += 20 * KILO;
        let now = store.get(&key("n-0")).unwrap().mod_revision;
        match store.commit(vec![Operation::removal(key("n-0"), now, bytes(length))]).await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, CommitError::Quota { .. }), "{refused}");
    assert!(store.size().rows <= (QUOTA + QUOTA / 8) as u64, "{:?}", store.size());
    delete(&store, "n-0").await.unwrap();
}

/// If one object changes all the time, the history is shortened and no write is refused.
#[tokio::test]
async fn the_history_gives_way_before_the_quota_is_spent() {
    const QUOTA: usize = 8 << 20;
    let directory = tempfile::tempdir().unwrap();
    let mut store = with_quota(&directory, QUOTA).await;
    for round in 0..3 {
        for _ in 0..100 {
            put(&store, "a", 100 * KILO).await.unwrap();
        }
        assert!(store.size().rows < QUOTA as u64, "round {round}: {:?}", store.size());
        drop(store);
        store = with_quota(&directory, QUOTA).await;
    }
    assert!(!store.alarm());
    store.verify().await.unwrap();
}

/// When nobody writes, the file is compacted without losing data.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_much_too_large_becomes_smaller() {
    let directory = tempfile::tempdir().unwrap();
    let limits = HistoryLimits {
        revisions: 1,
        age: std::time::Duration::ZERO,
        quota: 80 << 20,
        ..HistoryLimits::DEFAULT
    };
    let clock = clock();
    let locked = DataDirectory::open(directory.path()).unwrap();
    let store = Store::open_with(Embedded::open(&locked).unwrap(), clock.clone(), limits).await.unwrap();
    let each = 1 << 20;
    let fitted = fill(&store, each).await;
    let large = store.size().file;
    assert!(large > limits::COMPACT_FROM_BYTES, "{large}");
    for number in 1..fitted {
        delete(&store, &format!("n-{number}")).await.unwrap();
    }
    // The deleted objects are old enough to leave the history.
    clock.sleep(std::time::Duration::from_secs(5)).await;
    put(&store, "after", 10).await.unwrap();
    let file = directory.path().join("store.redb");
    for _ in 0..100 {
        clock.sleep(limits::QUIET).await;
        if file.metadata().unwrap().len() < large / 4 {
            break;
        }
    }
    assert!(file.metadata().unwrap().len() < large / 4);
    assert_eq!(store.get(&key("n-0")).unwrap().value.len(), each);
    put(&store, "after", 10).await.unwrap();
    store.verify().await.unwrap();
    assert!(directory.path().join("store.reserve").exists(), "space is set aside for deletions");
}
