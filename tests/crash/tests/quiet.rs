//! How much is read to open the store, after a crash and after a pause without writes.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use bytes::Bytes;
use crash::disk::{Cut, Recorder};
use crash::script::{formatted, open};
use machinery::random::Random;
use store::{Embedded, Key, Operation};

const OBJECTS: usize = 200;
/// Size of an object; together they exceed the engine's memory.
const SIZE: usize = 100_000;

/// Returns how many bytes are read to open the store after a power failure, `after` this time without writes.
async fn read_to_open(after: Duration) -> u64 {
    let disk = formatted();
    let store = open(&disk).await.unwrap();
    for number in 0..OBJECTS {
        let random = Random::seeded(number as u64);
        let value: Bytes =
            std::iter::repeat_with(|| random.number().to_le_bytes()).take(SIZE / 8).flatten().collect();
        let key = Key::new("g.io", "things", Some("ns"), &format!("k{number}")).unwrap();
        store.commit(vec![Operation::create(key, |_| value)]).await.unwrap();
    }
    tokio::time::sleep(after).await;
    let recording = disk.recording();
    let left = Recorder::new(recording.image(recording.moments() - 1, Cut::Lost, &Random::seeded(0)));
    let engine = Embedded::with_disk(left.clone()).unwrap();
    drop(engine);
    left.bytes_read()
}

#[tokio::test(start_paused = true)]
async fn opening_reads_each_page_a_bounded_number_of_times() {
    // Each page is read to verify its checksum and then loaded; with debug assertions redb reads it a third
    // time.
    let most = 3 * (OBJECTS * SIZE) as u64;
    for after in [Duration::ZERO, 3 * store::limits::QUIET] {
        let read = read_to_open(after).await;
        assert!(read < most, "{read} bytes, {after:?} after the last write");
    }
}
