//! The guarantees of the store at its public boundary, mostly with the memory engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, reason = "helpers of tests")]

use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use machinery::clock::Clock;
use store::testing::{Fault, Faulty};
use store::*;

fn key(name: &str) -> Key {
    Key::new("g.io", "things", Some("ns"), name).unwrap()
}

fn things() -> Prefix {
    Prefix::resource("g.io", "things").unwrap()
}

/// Returns the value that all tests write: a text and the revision, as objects contain their resourceVersion.
fn value(text: &str) -> impl FnOnce(Revision) -> Bytes + Send + 'static {
    let text = text.to_owned();
    move |revision| Bytes::from(format!("{text}@{revision}"))
}

fn text(stored: &Stored) -> &str {
    std::str::from_utf8(&stored.value).unwrap()
}

fn texts(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.items.iter().map(|stored| text(stored)).collect()
}

fn simulated() -> Clock {
    Clock::simulated(DateTime::UNIX_EPOCH)
}

async fn open(engine: &Memory) -> Store {
    Store::open(engine.clone(), simulated()).await.unwrap()
}

/// Returns the number of rows of an engine.
fn rows(engine: &Memory) -> usize {
    engine.load().unwrap().changes.len()
}

async fn create(store: &Store, name: &str) -> Revision {
    let events = store.commit(vec![Operation::create(key(name), value(name))]).await.unwrap();
    events[0].revision()
}

async fn update(store: &Store, name: &str, to: &str) -> Revision {
    let expected = store.get(&key(name)).unwrap().mod_revision;
    store.commit(vec![Operation::update(key(name), expected, value(to))]).await.unwrap()[0].revision()
}

async fn delete(store: &Store, name: &str) -> Revision {
    let expected = store.get(&key(name)).unwrap().mod_revision;
    store.commit(vec![Operation::delete(key(name), expected, value("gone"))]).await.unwrap()[0].revision()
}

#[tokio::test(start_paused = true)]
async fn an_empty_store_stands_at_one() {
    let engine = Memory::new();
    let store = open(&engine).await;
    assert_eq!(store.revision(), Revision(1));
    assert_eq!(create(&store, "a").await, Revision(2));
    drop(store);
    let store = open(&engine).await;
    assert_eq!(store.revision(), Revision(2));
    assert_eq!(text(&store.get(&key("a")).unwrap()), "a@2");
}

#[tokio::test(start_paused = true)]
async fn objects_are_counted_by_their_prefix() {
    let store = open(&Memory::new()).await;
    let keys = [
        ("", "pods", Some("ns")),
        ("g.io", "things", Some("ns")),
        ("g.io", "things", None),
        ("g.io", "others", None),
    ];
    for (group, resource, namespace) in keys {
        let key = Key::new(group, resource, namespace, "a").unwrap();
        store.commit(vec![Operation::create(key, value("a"))]).await.unwrap();
    }
    for (prefix, count) in [
        (Prefix::all(), 4),
        (Prefix::group("").unwrap(), 1),
        (Prefix::group("g.io").unwrap(), 3),
        (Prefix::group("g").unwrap(), 0),
        (Prefix::resource("g.io", "things").unwrap(), 2),
        (Prefix::namespace("g.io", "things", "ns").unwrap(), 1),
        (Prefix::object(&key("a")), 1),
        (Prefix::object(&key("b")), 0),
    ] {
        assert_eq!(store.count(&prefix), count, "{}", prefix.as_str());
        assert_eq!(store.list(&prefix, &Page::default()).items.len(), count, "{}", prefix.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn preconditions_hold() {
    let store = open(&Memory::new()).await;
    create(&store, "a").await;
    let again = store.commit(vec![Operation::create(key("a"), value("x"))]).await;
    assert!(
        matches!(again, Err(CommitError::AlreadyExists { current }) if current.mod_revision == Revision(2))
    );
    let stale = store.commit(vec![Operation::update(key("a"), Revision(1), value("x"))]).await;
    assert!(matches!(stale, Err(CommitError::Conflict { expected: Revision(1), .. })));
    let missing = store.commit(vec![Operation::update(key("b"), Revision(2), value("x"))]).await;
    assert!(matches!(missing, Err(CommitError::NotFound { .. })));
    let stale =
        store.commit(vec![Operation::Delete { key: key("a"), expected: Revision(9), last: None }]).await;
    assert!(matches!(stale, Err(CommitError::Conflict { .. })));
    assert_eq!(store.revision(), Revision(2), "refused transactions take no revision");
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_all_or_nothing() {
    let store = open(&Memory::new()).await;
    create(&store, "a").await;
    let operations = vec![
        Operation::create(key("b"), value("b")),
        Operation::update(key("a"), Revision(2), value("new")),
        Operation::create(key("a"), value("twice")),
    ];
    assert!(matches!(store.commit(operations).await, Err(CommitError::AlreadyExists { .. })));
    assert_eq!(texts(&store.list(&things(), &Page::default())), ["a@2"]);
    let operations = vec![
        Operation::create(key("b"), value("b")),
        Operation::update(key("b"), Revision(3), value("b2")),
        Operation::Delete { key: key("a"), expected: Revision(2), last: None },
    ];
    let events = store.commit(operations).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| (event.kind, event.revision().0)).collect();
    assert_eq!(kinds, [(EventKind::Added, 3), (EventKind::Modified, 4), (EventKind::Deleted, 5)]);
    assert_eq!(texts(&store.list(&things(), &Page::default())), ["b2@4"]);
    assert_eq!(store.get(&key("b")).unwrap().create_revision, Revision(3));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_value_harms_its_own_caller_only() {
    let store = open(&Memory::new()).await;
    let other = store.clone();
    let panicking = tokio::spawn(async move {
        let operations = vec![
            Operation::create(key("x"), value("x")),
            Operation::create(key("y"), |_| panic!("a planned panic of this test")),
        ];
        other.commit(operations).await
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert_eq!(create(&store, "x").await, Revision(2));
}

#[tokio::test(start_paused = true)]
async fn lists_have_pages_and_a_past() {
    let store = open(&Memory::new()).await;
    for name in ["d", "b", "a", "c"] {
        create(&store, name).await;
    }
    let first = store.list(&things(), &Page { start_after: None, limit: Some(2) });
    assert_eq!((texts(&first), first.remaining, first.revision), (vec!["a@4", "b@3"], 2, Revision(5)));
    // Changes between two pages do not show on the second page.
    delete(&store, "c").await;
    update(&store, "d", "new").await;
    create(&store, "e").await;
    let page = Page { start_after: Some(first.items[1].key.clone()), limit: Some(5) };
    let second = store.list_at(&things(), first.revision, &page).await.unwrap();
    assert_eq!((texts(&second), second.remaining), (vec!["c@5", "d@2"], 0));
    assert_eq!(texts(&store.list(&things(), &page)), ["new@7", "e@8"]);
    assert_eq!(texts(&store.list_at(&things(), Revision(1), &Page::default()).await.unwrap()), [""; 0]);
    assert_eq!(
        store.list_at(&things(), Revision(9), &Page::default()).await.unwrap_err(),
        HistoryError::Future { requested: Revision(9), current: Revision(8) }
    );
    let one = Prefix::object(&key("a"));
    assert_eq!(texts(&store.list(&one, &Page::default())), ["a@4"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_every_event_from_its_revision_on() {
    let engine = Memory::new();
    let store = open(&engine).await;
    create(&store, "a").await;
    update(&store, "a", "a2").await;
    let other = Key::new("g.io", "others", None, "x").unwrap();
    store.commit(vec![Operation::create(other, value("x"))]).await.unwrap();
    delete(&store, "a").await;
    for store in [&store, &open(&engine).await] {
        let mut watcher = store.watch(&things(), Revision(2)).unwrap();
        assert_eq!(watcher.progress(), Revision(2), "events wait");
        let modified = watcher.next().await.unwrap();
        assert_eq!((modified.kind, text(&modified.object)), (EventKind::Modified, "a2@3"));
        assert_eq!(text(modified.prev.as_ref().unwrap()), "a@2");
        let deleted = watcher.next().await.unwrap();
        assert_eq!((deleted.kind, text(&deleted.object)), (EventKind::Deleted, "gone@5"));
        assert_eq!(text(deleted.prev.as_ref().unwrap()), "a2@3");
        assert_eq!(watcher.try_next().unwrap(), None);
        assert_eq!(watcher.progress(), Revision(5));
    }
    let mut live = store.watch(&things(), store.revision()).unwrap();
    let other = Key::new("g.io", "others", None, "y").unwrap();
    store.commit(vec![Operation::create(other, value("y"))]).await.unwrap();
    assert_eq!(live.progress(), Revision(6), "what it does not watch is progress, too");
    create(&store, "b").await;
    assert_eq!(live.progress(), Revision(6));
    assert_eq!(live.next().await.unwrap().revision(), Revision(7));
    assert!(matches!(store.watch(&things(), Revision(8)), Err(HistoryError::Future { .. })));
}

#[tokio::test(start_paused = true)]
async fn history_is_dropped_after_both_limits_and_keeps_what_is_needed() {
    let engine = Memory::new();
    let limits = HistoryLimits { revisions: 10, age: Duration::from_secs(60), ..HistoryLimits::default() };
    let clock = simulated();
    let store = Store::open_with(engine.clone(), clock.clone(), limits).await.unwrap();
    create(&store, "kept").await;
    create(&store, "changed").await;
    for _ in 0..30 {
        update(&store, "changed", "x").await;
    }
    assert_eq!(store.history_count(), 32, "young events stay, however many");
    clock.sleep(Duration::from_secs(61)).await;
    update(&store, "changed", "y").await;
    assert_eq!(store.history_count(), 10, "old events stay up to the number");
    assert_eq!(store.oldest(), Revision(24));
    // The rows are ten of the history, the version that the oldest of them replaced, and the object that did not
    // change.
    assert_eq!(rows(&engine), 12);
    let last = delete(&store, "changed").await;
    for round in 0..12 {
        clock.sleep(Duration::from_secs(61)).await;
        create(&store, &format!("more-{round}")).await;
    }
    assert!(store.oldest() > last);
    assert_eq!(rows(&engine), 13, "nothing is left of what was deleted");
    drop(store);
    let store = Store::open_with(engine.clone(), clock, limits).await.unwrap();
    assert_eq!(store.object_count(), 13);
    assert_eq!(store.history_count(), 10);
    let oldest = store.oldest();
    let too_old = Revision(oldest.0 - 1);
    let compacted = HistoryError::Compacted { requested: too_old, oldest };
    assert_eq!(store.watch(&things(), too_old).err(), Some(compacted.clone()));
    assert_eq!(store.list_at(&things(), too_old, &Page::default()).await.unwrap_err(), compacted);
    assert!(store.watch(&things(), oldest).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failed_engine_poisons_and_a_full_disk_does_not() {
    for (fault, reopened) in [(Fault::Lost, Revision(2)), (Fault::Written, Revision(3))] {
        let memory = Memory::new();
        let engine = Faulty::new(memory.clone());
        engine.fail(2, fault);
        let store = Store::open(engine.clone(), simulated()).await.unwrap();
        create(&store, "a").await;
        let mut watcher = store.watch(&things(), Revision(1)).unwrap();
        let failed = store.commit(vec![Operation::create(key("b"), value("b"))]).await.unwrap_err();
        let CommitError::Poisoned(first) = failed else { panic!("{failed}") };
        let later = store.commit(vec![Operation::create(key("c"), value("c"))]).await.unwrap_err();
        assert!(matches!(later, CommitError::Poisoned(reason) if reason == first));
        assert_eq!(engine.commits(), 2, "an engine that failed is not called again");
        assert_eq!(store.failure(), Some(first));
        assert_eq!((store.get(&key("b")), store.revision()), (None, Revision(2)));
        assert_eq!(watcher.next().await.unwrap().revision(), Revision(2));
        assert_eq!(watcher.next().await, Err(WatchEnd::Stopped));
        assert!(matches!(store.watch(&things(), Revision(2)), Err(HistoryError::Poisoned(_))));
        assert_eq!(open(&memory).await.revision(), reopened);
    }
    let engine = Faulty::new(Memory::new());
    engine.fail(2, Fault::Full);
    let store = Store::open(engine.clone(), simulated()).await.unwrap();
    create(&store, "a").await;
    let full = store.commit(vec![Operation::create(key("b"), value("b"))]).await.unwrap_err();
    assert!(matches!(full, CommitError::Full(_)), "{full}");
    assert_eq!((store.get(&key("b")), store.failure()), (None, None));
    assert_eq!(
        create(&store, "b").await,
        Revision(4),
        "the revision of the failed write is not given to another"
    );
}

#[tokio::test(start_paused = true)]
async fn one_commit_trims_a_bounded_number_of_events() {
    let limits = HistoryLimits { revisions: 10, age: Duration::from_secs(60), ..HistoryLimits::default() };
    let clock = simulated();
    for (events, left) in [(limits::TRIM_EVENTS_MAX + 9, 10), (2 * limits::TRIM_EVENTS_MAX, 513)] {
        let store = Store::open_with(Memory::new(), clock.clone(), limits).await.unwrap();
        create(&store, "a").await;
        for _ in 1..events {
            update(&store, "a", "x").await;
        }
        clock.sleep(Duration::from_secs(61)).await;
        update(&store, "a", "y").await;
        assert_eq!(store.history_count(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_harms_nothing() {
    let engine = Memory::new();
    let limits = HistoryLimits { revisions: 3, age: Duration::from_secs(60), ..HistoryLimits::default() };
    let year = Duration::from_secs(365 * 86_400);
    let later = Clock::simulated(DateTime::UNIX_EPOCH + year);
    let store = Store::open_with(engine.clone(), later, limits).await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        create(&store, name).await;
    }
    assert_eq!(store.history_count(), 5);
    // The clock is set back by a year. Events "from the future" must not stay for a year.
    let store = Store::open_with(engine, simulated(), limits).await.unwrap();
    let revision = create(&store, "f").await;
    assert_eq!((revision, store.history_count(), store.object_count()), (Revision(7), 3, 6));
}

#[tokio::test]
async fn the_history_that_memory_does_not_hold_is_read_from_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let directory = DataDirectory::open(directory.path()).unwrap();
    let limits = HistoryLimits { memory: 0, ..HistoryLimits::default() };
    let engine = Embedded::open(&directory).unwrap();
    let store = Store::open_with(engine, Clock::system(), limits).await.unwrap();
    create(&store, "a").await;
    let first = store.revision();
    for number in 0..store::limits::READ_EVENTS * 2 {
        update(&store, "a", &number.to_string()).await;
    }
    delete(&store, "a").await;
    let then = store.list_at(&things(), Revision(first.0 + 7), &Page::default()).await.unwrap();
    assert_eq!(texts(&then), [format!("6@{}", first.0 + 7)]);
    let mut watcher = store.watch(&things(), first).unwrap();
    for number in 0..store::limits::READ_EVENTS * 2 {
        let event = watcher.next().await.unwrap();
        assert_eq!(event.object.value, format!("{number}@{}", first.0 + 1 + number as u64));
        assert_eq!(event.prev.as_ref().map(|prev| prev.mod_revision.0), Some(first.0 + number as u64));
    }
    assert_eq!(watcher.next().await.unwrap().kind, EventKind::Deleted);
    assert_eq!((watcher.try_next(), watcher.progress()), (Ok(None), store.revision()));
}
