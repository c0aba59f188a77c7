//! A full disk: deletions use the reserved space and free more.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use chrono::DateTime;
use machinery::clock::Clock;
use redb::StorageBackend;
use store::*;

/// A disk in memory with a limited number of blocks. The reserve takes some of them.
#[derive(Clone, Debug, Default)]
struct Small(Arc<Mutex<Blocks>>);

#[derive(Debug, Default)]
struct Blocks {
    content: Vec<u8>,
    taken: std::collections::BTreeSet<usize>,
    room: usize,
    reserve: usize,
}

const BLOCK: usize = 4096;
const RESERVE: usize = 256;

impl Disk for Small {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.clone()))
    }

    fn name(&self) -> String {
        "the small disk".to_owned()
    }

    fn reserve(&self) -> bool {
        let mut blocks = self.0.lock().unwrap();
        if blocks.reserve == 0 && blocks.taken.len() + RESERVE <= blocks.room {
            blocks.reserve = RESERVE;
        }
        blocks.reserve > 0
    }

    fn release(&self) -> bool {
        std::mem::take(&mut self.0.lock().unwrap().reserve) > 0
    }
}

impl StorageBackend for Small {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().content.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (blocks, offset) = (self.0.lock().unwrap(), offset as usize);
        out.copy_from_slice(
            blocks.content.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?,
        );
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut blocks = self.0.lock().unwrap();
        blocks.content.resize(len as usize, 0);
        blocks.taken.retain(|block| block * BLOCK < len as usize);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (mut blocks, offset) = (self.0.lock().unwrap(), offset as usize);
        let wanted = offset / BLOCK..(offset + data.len()).div_ceil(BLOCK);
        let more = wanted.clone().filter(|block| !blocks.taken.contains(block)).count();
        if more > 0 && blocks.taken.len() + blocks.reserve + more > blocks.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        blocks.taken.extend(wanted);
        blocks.content[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }
}

fn key(number: usize) -> Key {
    Key::new("g.io", "things", Some("ns"), &format!("n-{number:04}")).unwrap()
}

async fn create(store: &Store, number: usize) -> Result<(), CommitError> {
    let random = machinery::random::Random::seeded(number as u64);
    let value: Vec<u8> = std::iter::repeat_with(|| random.number() as u8).take(60_000).collect();
    store.commit(vec![Operation::create(key(number), |_| value.into())]).await.map(drop)
}

async fn delete(store: &Store, number: usize) -> Result<(), CommitError> {
    let expected = store.get(&key(number)).unwrap().mod_revision;
    store.commit(vec![Operation::Delete { key: key(number), expected, last: None }]).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn deletions_go_on_and_make_room() {
    let disk = Small::default();
    disk.0.lock().unwrap().room = 2_000;
    Embedded::format(&disk).unwrap();
    let clock = Clock::simulated(DateTime::UNIX_EPOCH);
    let store = Store::open(Embedded::with_disk(disk.clone()).unwrap(), clock.clone()).await.unwrap();
    create(&store, 0).await.unwrap();
    clock.sleep(3 * limits::QUIET).await;
    assert!(disk.0.lock().unwrap().reserve > 0, "it is set aside when nobody writes");
    let mut made = 1;
    let refused = loop {
        match create(&store, made).await {
            Ok(()) => made += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, CommitError::Full(_)), "{refused}");
    assert!(!store.alarm() && store.health().is_ok());
    for number in 0..made - 2 {
        delete(&store, number).await.unwrap_or_else(|error| panic!("{number} of {made}: {error}"));
    }
    // If the reserve was used, space that deletions free is only available to deletions until the reserve is restored.
    for _ in 0..60 {
        clock.sleep(limits::QUIET).await;
        if !store.alarm() {
            break;
        }
    }
    assert!(!store.alarm());
    for number in made..made + 5 {
        create(&store, number).await.unwrap();
    }
    let (before, after) = (store.object_count(), store.verify().await.unwrap());
    assert_eq!((before, after.objects), (2 + 5, 7));
    let value = store.get(&key(made)).unwrap().value.clone();
    assert_ne!(value, Bytes::new());
}
