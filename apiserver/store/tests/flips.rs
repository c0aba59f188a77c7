//! Flipped bits in the embedded engine's file are found, or concern bytes that are never read.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use machinery::clock::Clock;
use machinery::random::Random;
use redb::StorageBackend;
use store::*;

/// A file in memory. Clones are the same file.
#[derive(Clone, Debug)]
struct File(Arc<Mutex<Vec<u8>>>);

impl File {
    fn of(content: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(content)))
    }

    fn content(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Disk for File {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.clone()))
    }

    fn name(&self) -> String {
        "the file".to_owned()
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (content, offset) = (self.0.lock().unwrap(), offset as usize);
        out.copy_from_slice(content.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = offset as usize;
        self.0.lock().unwrap()[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }
}

async fn open(file: &File) -> Result<Store, EngineError> {
    Store::open(Embedded::with_disk(file.clone())?, Clock::system()).await
}

fn key(number: usize) -> Key {
    Key::new("g.io", "things", Some("ns"), &format!("n-{number:03}")).unwrap()
}

fn everything(store: &Store) -> (Revision, Vec<Arc<Stored>>) {
    let list = store.list(&Prefix::all(), &Page::default());
    (list.revision, list.items)
}

/// Waits until no task holds the store, so that all commits have ended.
async fn close(store: Store, file: &File) {
    drop(store);
    while Arc::strong_count(&file.0) > 1 {
        tokio::task::yield_now().await;
    }
}

/// Fills a store with objects of all sizes, of which some are replaced and some deleted.
async fn filled(file: &File) -> Store {
    Embedded::format(file).unwrap();
    let store = open(file).await.unwrap();
    for number in 0..24 {
        let value = Bytes::from(format!("{number}-").repeat(1 + number * number));
        store.commit(vec![Operation::create(key(number), |_| value)]).await.unwrap();
    }
    for number in 0..8 {
        let at = store.get(&key(number)).unwrap().mod_revision;
        store
            .commit(vec![Operation::update(key(number), at, |_| Bytes::from_static(b"again"))])
            .await
            .unwrap();
    }
    for number in 8..10 {
        let at = store.get(&key(number)).unwrap().mod_revision;
        let delete = Operation::Delete { key: key(number), expected: at, last: None };
        store.commit(vec![delete]).await.unwrap();
    }
    store
}

/// Returns the bytes and bits to flip: all of the header, and of the rest one bit in a sample of the bytes, most of
/// them not zero.
fn places(whole: &[u8], every: usize) -> Vec<(usize, u8)> {
    let header = (0..384).flat_map(|at| (0..8).map(move |bit| (at, bit)));
    let random = Random::seeded(13);
    let rest = (384..whole.len()).filter_map(|at| {
        let tried =
            if whole[at] == 0 { random.number().is_multiple_of(4_001) } else { at.is_multiple_of(every) };
        tried.then_some((at, (random.number() % 8) as u8))
    });
    header.chain(rest).collect()
}

async fn every_flip_is_found_or_changes_nothing(
    whole: Vec<u8>,
    expected: (Revision, Vec<Arc<Stored>>),
    every: usize,
) {
    let mut found = 0;
    let places = places(&whole, every);
    for &(at, bit) in &places {
        let what = format!("byte {at}, bit {bit}");
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        let file = File::of(bytes);
        let verified = match open(&file).await {
            Ok(store) => store.verify().await.map(|_| store),
            Err(error) => Err(error),
        };
        match verified {
            Err(error) => {
                assert!(
                    matches!(error, EngineError::Damaged { .. } | EngineError::Newer { .. }),
                    "{what}: {error}"
                );
                found += 1;
            }
            Ok(store) => {
                assert_eq!(everything(&store), expected, "{what}");
                store
                    .commit(vec![Operation::create(key(100), |_| Bytes::from_static(b"new"))])
                    .await
                    .unwrap();
                close(store, &file).await;
                let store = open(&file).await.unwrap();
                store.verify().await.unwrap();
                assert_eq!(store.object_count(), expected.1.len() + 1, "{what}");
            }
        }
    }
    assert!(found > 500, "{found} of {} found", places.len());
}

#[tokio::test]
async fn every_flipped_bit_of_a_closed_file_is_found() {
    let file = File::of(Vec::new());
    let store = filled(&file).await;
    let expected = everything(&store);
    close(store, &file).await;
    every_flip_is_found_or_changes_nothing(file.content(), expected, 11).await;
}

/// The file is that of a process that was killed after some time without writes.
#[tokio::test(start_paused = true)]
async fn every_flipped_bit_of_a_file_at_rest_is_found() {
    let file = File::of(Vec::new());
    let store = filled(&file).await;
    let before = file.content();
    tokio::time::sleep(3 * limits::QUIET).await;
    while file.content() == before {
        tokio::task::yield_now().await;
    }
    every_flip_is_found_or_changes_nothing(file.content(), everything(&store), 31).await;
}

/// A running server verifies the disk, not its memory.
#[tokio::test]
async fn a_bit_that_flips_under_a_running_store_is_found() {
    let file = File::of(Vec::new());
    let store = filled(&file).await;
    store.verify().await.unwrap();
    let whole = file.content();
    let mut found = 0;
    for at in (4096..whole.len()).filter(|at| whole[*at] != 0).step_by(211) {
        file.0.lock().unwrap()[at] ^= 1;
        found += usize::from(store.verify().await.is_err());
        file.0.lock().unwrap()[at] ^= 1;
    }
    assert!(found > 10, "{found}");
    store.verify().await.unwrap();
}
