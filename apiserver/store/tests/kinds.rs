//! Engines by name.

#![allow(clippy::unwrap_used, reason = "a test")]

use bytes::Bytes;
use machinery::clock::Clock;
use store::{DataDirectory, EngineKind, Key, Operation, Prefix, Store};

async fn open(kind: EngineKind, directory: &DataDirectory) -> Store {
    let engine = kind.open(directory).unwrap();
    Store::open_engine(engine, Clock::system(), kind.limits()).await.unwrap()
}

#[tokio::test]
async fn an_engine_finds_its_content_again_and_no_other_engine_opens_it() {
    for kind in EngineKind::PERSISTENT.iter().copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let directory = DataDirectory::open(&path).unwrap();
        assert_eq!(EngineKind::of(&path), None, "{kind:?}");
        let store = open(kind, &directory).await;
        let key = Key::new("", "configmaps", Some("default"), "one").unwrap();
        let create = Operation::create(key, |_| Bytes::from_static(b"value"));
        store.commit(vec![create]).await.unwrap();
        drop(store);
        assert_eq!(EngineKind::of(&path), Some(kind));
        assert!(kind.content(&path).unwrap().exists());
        for other in EngineKind::PERSISTENT.iter().copied().filter(|other| *other != kind) {
            let Err(error) = other.open(&directory) else { panic!("{other:?} opens what {kind:?} wrote") };
            let error = error.to_string();
            assert!(error.contains(kind.name()) && error.contains(other.name()), "{error}");
        }
        assert_eq!(open(kind, &directory).await.count(&Prefix::all()), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn memory_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let directory = DataDirectory::open(&path).unwrap();
    drop(open(EngineKind::Memory, &directory).await);
    assert_eq!((EngineKind::of(&path), EngineKind::Memory.content(&path)), (None, None));
}
