//! `store-writer ENGINE DIRECTORY`: writes to a store until it is killed, and prints each acknowledged write
//! as `<writer> <count> <revision>`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a part of a test")]

use std::path::Path;

use bytes::Bytes;
use machinery::clock::Clock;
use store::{DataDirectory, Embedded, Operation, Revision, Store};

const WRITERS: usize = 8;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = DataDirectory::open(Path::new(&arguments[2])).unwrap();
    let store = match arguments[1].as_str() {
        "embedded" => Store::open(Embedded::open(&directory).unwrap(), Clock::system()).await.unwrap(),
        "sled" => Store::open(store::Sled::open(&directory).unwrap(), Clock::system()).await.unwrap(),
        other => panic!("no engine {other}"),
    };
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), writer))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn write(store: Store, writer: usize) {
    let key = crash::kill::key(writer);
    let before = store.get(&key);
    let mut count = before.as_ref().map_or(0, |stored| crash::kill::count(stored));
    let mut at = before.map(|stored| stored.mod_revision);
    loop {
        count += 1;
        let value = move |revision: Revision| {
            let padding = "x".repeat(usize::try_from(revision.0 % 7_000).unwrap());
            Bytes::from(format!("{count} {revision} {padding}"))
        };
        let operation = match at {
            None => Operation::create(key.clone(), value),
            Some(at) => Operation::update(key.clone(), at, value),
        };
        let revision = store.commit(vec![operation]).await.unwrap()[0].revision();
        at = Some(revision);
        println!("{writer} {count} {revision}");
    }
}
