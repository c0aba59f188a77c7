//! What the store costs: alone in its process, so that the process's memory is the store's.

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

#[tokio::test]
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
                // Spare capacity, as a serializer leaves it.
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
