//! The engines that write to a disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, reason = "helpers of tests")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use machinery::clock::Clock;
use store::*;

fn key(number: usize) -> Key {
    Key::new("", "configmaps", Some("default"), &format!("n-{number:05}")).unwrap()
}

async fn open(path: &Path) -> Result<Store, EngineError> {
    let directory = DataDirectory::open(path)?;
    Store::open(Embedded::open(&directory)?, Clock::system()).await
}

/// Reopens the store. The last holder of the engine releases the lock, and this may be the thread of a commit.
async fn reopen(store: Store, path: &Path) -> Store {
    drop(store);
    loop {
        match open(path).await {
            Err(EngineError::InUse { .. }) => tokio::task::yield_now().await,
            other => return other.unwrap(),
        }
    }
}

fn create(number: usize) -> Operation {
    Operation::create(key(number), move |revision| Bytes::from(format!("{number}@{revision}")))
}

#[tokio::test]
async fn concurrent_writers_share_commits_and_all_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await.unwrap();
    let mut watcher = store.watch(&Prefix::all(), Revision(1)).unwrap();
    let writers: Vec<_> = (0..200)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let revision = store.commit(vec![create(number)]).await.unwrap()[0].revision();
                let expected = store.get(&key(number)).unwrap().mod_revision;
                assert_eq!(expected, revision, "who was answered can read its write");
                let update = Operation::update(key(number), expected, |_| Bytes::from_static(b"second"));
                store.commit(vec![update]).await.unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    for revision in 2..=401 {
        assert_eq!(watcher.next().await.unwrap().revision(), Revision(revision));
    }
    let before = store.list(&Prefix::all(), &Page::default());
    let store = reopen(store, directory.path()).await;
    let after = store.list(&Prefix::all(), &Page::default());
    assert_eq!((after.revision, after.items), (before.revision, before.items));
    assert_eq!(store.history_count(), 400);
    let mut watcher = store.watch(&Prefix::all(), Revision(1)).unwrap();
    for revision in 2..=401 {
        assert_eq!(watcher.next().await.unwrap().revision(), Revision(revision));
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_take_its_write_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await.unwrap();
    let mut watcher = store.watch(&Prefix::all(), Revision(1)).unwrap();
    {
        let mut commit = Box::pin(store.commit(vec![create(1)]));
        let waker = futures_noop_waker();
        let mut context = std::task::Context::from_waker(&waker);
        assert!(commit.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(watcher.next().await.unwrap().key(), &key(1));
    store.commit(vec![create(2)]).await.unwrap();
}

fn futures_noop_waker() -> std::task::Waker {
    struct Nothing;
    impl std::task::Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    Arc::new(Nothing).into()
}

#[tokio::test]
async fn files_are_private() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let store = open(&path).await.unwrap();
    store.commit(vec![create(1)]).await.unwrap();
    for entry in path.read_dir().unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
    let second = open(&path).await.err().unwrap();
    assert!(matches!(second, EngineError::InUse { .. }), "{second}");
}

async fn damaged(damage: impl FnOnce(&Path)) -> (EngineError, Vec<u8>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await.unwrap();
    for number in 0..50 {
        store.commit(vec![create(number)]).await.unwrap();
    }
    drop(reopen(store, directory.path()).await);
    let file = directory.path().join("store.redb");
    damage(&file);
    let before = std::fs::read(&file).unwrap();
    let error = open(directory.path()).await.err().expect("damage is refused");
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    let after = std::fs::read(&file).unwrap();
    (error, before, after)
}

#[tokio::test]
async fn a_damaged_file_is_named_and_refused_and_left_alone() {
    type Damage = Box<dyn FnOnce(&Path)>;
    let table: Vec<(&str, Damage)> = vec![
        ("empty", Box::new(|file| std::fs::write(file, b"").unwrap())),
        ("text", Box::new(|file| std::fs::write(file, b"apiVersion: v1\n").unwrap())),
        ("zeros", Box::new(|file| std::fs::write(file, vec![0; 1 << 20]).unwrap())),
        (
            "cut",
            Box::new(|file| {
                std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(5000).unwrap()
            }),
        ),
    ];
    for (name, damage) in table {
        let (error, before, after) = damaged(damage).await;
        assert!(matches!(error, EngineError::Damaged { .. }), "{name}: {error}");
        assert!(before == after, "{name}: the file was changed");
    }
}

/// Opens, verifies and closes damaged files. The engine's own header and its tables of free pages may have any content,
/// too.
#[tokio::test]
async fn a_flipped_bit_of_the_file_never_panics() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await.unwrap();
    for number in 0..20 {
        store.commit(vec![create(number)]).await.unwrap();
    }
    drop(reopen(store, directory.path()).await);
    let file = directory.path().join("store.redb");
    let whole = std::fs::read(&file).unwrap();
    // The header of the file, and the first bytes of each page, which describe its content.
    let heads = (0..whole.len()).filter(|at| at % 4096 < 96 && whole[at / 4096 * 4096] != 0);
    for (at, bit) in heads.flat_map(|at| [(at, 0), (at, 3)]) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        std::fs::write(&file, bytes).unwrap();
        match open(directory.path()).await {
            Ok(store) => drop(store.verify().await),
            Err(error) => assert!(error.to_string().contains("store.redb"), "byte {at}, bit {bit}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_flipped_bit_in_a_value_is_found() {
    let (error, ..) = damaged(|file| {
        let mut bytes = std::fs::read(file).unwrap();
        let places: Vec<usize> =
            bytes.windows(5).enumerate().filter(|(_, w)| *w == b"17@19").map(|(at, _)| at).collect();
        assert!(!places.is_empty());
        for place in places {
            bytes[place] ^= 4;
        }
        std::fs::write(file, bytes).unwrap();
    })
    .await;
    assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
}

/// Opening a store need not read replaced values, but verifying it does.
#[tokio::test]
async fn a_flipped_bit_in_a_replaced_value_is_found_when_it_is_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await.unwrap();
    let first = store.commit(vec![create(17)]).await.unwrap()[0].revision();
    let update = Operation::update(key(17), first, |_| Bytes::from_static(b"second"));
    store.commit(vec![update]).await.unwrap();
    let store = reopen(store, directory.path()).await;
    let verified = store.verify().await.unwrap();
    assert_eq!((verified.objects, verified.rows), (1, 2));
    drop(reopen(store, directory.path()).await);
    let file = directory.path().join("store.redb");
    let mut bytes = std::fs::read(&file).unwrap();
    let value = format!("17@{first}");
    let is_value = |(at, window): (usize, &[u8])| (window == value.as_bytes()).then_some(at);
    let places: Vec<usize> = bytes.windows(value.len()).enumerate().filter_map(is_value).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place] ^= 4;
    }
    std::fs::write(&file, bytes).unwrap();
    let found = match open(directory.path()).await {
        Ok(store) => store.verify().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(found, EngineError::Damaged { .. }), "{found}");
}

#[tokio::test]
async fn a_newer_format_is_refused_with_both_numbers() {
    let (error, ..) = damaged(|file| {
        let database = redb::Database::open(file).unwrap();
        let transaction = database.begin_write().unwrap();
        let meta: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
        transaction.open_table(meta).unwrap().insert("format", 99).unwrap();
        transaction.commit().unwrap();
    })
    .await;
    assert!(matches!(error, EngineError::Newer { found: 99, supported: 2, .. }), "{error}");
    assert!(error.to_string().contains("99") && error.to_string().contains("format 2"), "{error}");
}

/// An older version, which could not read new rows, then refuses the whole file.
#[tokio::test]
async fn the_first_write_raises_an_older_format() {
    const META: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.redb");
    drop(open(directory.path()).await.unwrap());
    let database = redb::Database::open(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let store = open(directory.path()).await.unwrap();
    store.commit(vec![create(1)]).await.unwrap();
    drop(store);
    let database = redb::Database::open(&file).unwrap();
    let meta = redb::ReadableDatabase::begin_read(&database).unwrap().open_table(META).unwrap();
    assert_eq!(meta.get("format").unwrap().unwrap().value(), 2);
}

#[tokio::test]
async fn half_a_creation_is_no_store() {
    let directory = tempfile::tempdir().unwrap();
    drop(DataDirectory::open(directory.path()).unwrap());
    std::fs::write(directory.path().join("store.redb.new"), b"half").unwrap();
    let store = open(directory.path()).await.unwrap();
    store.commit(vec![create(1)]).await.unwrap();
}

#[tokio::test]
async fn sled_keeps_what_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let directory = DataDirectory::open(directory.path()).unwrap();
        Store::open(Sled::open(&directory).unwrap(), Clock::system())
    };
    let store = open().await.unwrap();
    for number in 0..50 {
        store.commit(vec![create(number)]).await.unwrap();
    }
    let before = store.list(&Prefix::all(), &Page::default());
    drop(store);
    let after = open().await.unwrap().list(&Prefix::all(), &Page::default());
    assert_eq!((after.revision, after.items), (before.revision, before.items));
}

/// A program that this process starts has a copy of the descriptor, and of the lock, until it runs.
#[test]
fn sled_waits_for_a_copy_of_its_lock() {
    let directory = tempfile::tempdir().unwrap();
    let held = DataDirectory::open(directory.path()).unwrap();
    drop(Sled::open(&held).unwrap());
    let file = std::fs::File::open(directory.path().join("store.sled/db")).unwrap();
    file.lock().unwrap();
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let waits = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&inode))
    };
    let opening = std::thread::spawn(move || Sled::open(&held).map(drop));
    // Each look reads a file, so these are some seconds.
    for _ in 0..100_000 {
        if opening.is_finished() || waits() {
            break;
        }
        std::thread::yield_now();
    }
    file.unlock().unwrap();
    opening.join().unwrap().unwrap();
}
