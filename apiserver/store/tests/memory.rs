//! The memory use of the store. The test is alone in its process, so that the process's memory is that of the store.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use bytes::Bytes;
use machinery::clock::Clock;
use store::*;

const OBJECTS: usize = 5_000;
const OBJECT_BYTES: usize = 3_400;
const RESIDENT_BYTES_MAX: usize = 60 << 20;

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

const WATCHERS: usize = 500;
const UPDATES: usize = 10_000;
const UPDATE_BYTES: usize = 100_000;
/// Maximum additional memory of stalled watchers.
const STALLED_BYTES_MAX: usize = 150 << 20;

/// Both parts measure this process, so they run one after the other.
#[tokio::test]
async fn a_store_takes_no_more_memory_than_it_may() {
    five_thousand_objects_fit().await;
    five_hundred_stalled_watchers_take_little().await;
}

/// The watchers stop reading, each at another place, while more is written than all queues may hold. Later they read
/// all events without a gap.
async fn five_hundred_stalled_watchers_take_little() {
    let directory = tempfile::tempdir().unwrap();
    let locked = DataDirectory::open(directory.path()).unwrap();
    let store = Store::open(Embedded::open(&locked).unwrap(), Clock::system()).await.unwrap();
    let before = resident();
    let mut watchers: Vec<_> =
        (0..WATCHERS).map(|_| store.watch(&Prefix::all(), store.revision()).unwrap()).collect();
    let keys: Vec<Key> = (0..250)
        .map(|number| Key::new("", "configmaps", Some("default"), &format!("big-{number:03}")).unwrap())
        .collect();
    let value = |_| Bytes::from(vec![b'x'; UPDATE_BYTES]);
    // The objects are written in turn, so that a batch contains many.
    for round in 0..UPDATES / keys.len() {
        let commits: Vec<_> = keys
            .iter()
            .map(|key| {
                let operation = match store.get(key) {
                    Some(now) => Operation::update(key.clone(), now.mod_revision, value),
                    None => Operation::create(key.clone(), value),
                };
                let store = store.clone();
                tokio::spawn(async move { store.commit(vec![operation]).await })
            })
            .collect();
        for commit in commits {
            commit.await.unwrap().unwrap();
        }
        for watcher in watchers.iter_mut().skip(round).step_by(UPDATES / keys.len()) {
            watcher.next().await.unwrap();
        }
        assert!(store.queued_bytes() <= limits::WATCH_QUEUES_BYTES);
    }
    let stalled = resident() - before.min(resident());
    eprintln!("{} MB more with stalled watchers", stalled >> 20);
    assert!(stalled < STALLED_BYTES_MAX, "{stalled}");
    for watcher in watchers.iter_mut().take(2) {
        let mut last = watcher.progress();
        while last < store.revision() {
            let event = watcher.next().await.unwrap();
            assert_eq!(event.revision(), last.next());
            last = event.revision();
        }
    }
}

async fn five_thousand_objects_fit() {
    let directory = tempfile::tempdir().unwrap();
    let open = || async {
        let locked = DataDirectory::open(directory.path()).unwrap();
        Store::open(Embedded::open(&locked).unwrap(), Clock::system()).await.unwrap()
    };
    let store = open().await;
    for chunk in (0..OBJECTS).collect::<Vec<_>>().chunks(250) {
        let commits: Vec<_> = chunk
            .iter()
            .map(|number| {
                let key =
                    Key::new("", "configmaps", Some("default"), &format!("object-{number:05}")).unwrap();
                // A serializer leaves spare capacity.
                let value = |_| {
                    let mut value = Vec::with_capacity(2 * OBJECT_BYTES);
                    value.resize(OBJECT_BYTES, b'x');
                    Bytes::from(value)
                };
                let store = store.clone();
                tokio::spawn(async move { store.commit(vec![Operation::create(key, value)]).await })
            })
            .collect();
        for commit in commits {
            commit.await.unwrap().unwrap();
        }
    }
    let filled = resident();
    drop(store);
    let store = open().await;
    eprintln!("{} MB when filled, {} MB when opened again", filled >> 20, resident() >> 20);
    assert_eq!((store.object_count(), store.history_count()), (OBJECTS, OBJECTS));
    assert!(filled < RESIDENT_BYTES_MAX, "{filled}");
}
