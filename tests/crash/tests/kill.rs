//! kill -9 of a process that writes to a store, repeatedly in the same directory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test, which prints its seed"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crash::kill::{Acknowledged, check, parse};
use machinery::clock::Clock;
use machinery::random::Random;
use store::{DataDirectory, Embedded, Store};

/// Returns the number of kills, from `CRASH_KILLS`.
fn kills() -> u64 {
    std::env::var("CRASH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

/// Returns the next whole line. The kill may have cut off the last one, which may still look like a number.
fn next_line(output: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.strip_suffix('\n').map(str::to_owned)
}

/// Runs the writer until it has acknowledged `writes` writes, kills it, and returns all acknowledged writes.
fn kill_after(engine: &str, directory: &Path, writes: u64, acknowledged: &mut Acknowledged) {
    let mut writer = Command::new(env!("CARGO_BIN_EXE_store-writer"))
        .args([engine.as_ref(), directory.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(writer.stdout.take().unwrap());
    let before = acknowledged.values().map(|(_, revision)| *revision).max().unwrap_or(0);
    let mut record = |line: &str| {
        let (writer, write) = parse(line).expect("a line of a writer");
        let (_, revision) = write;
        assert!(revision > before, "revision {revision} was used before");
        acknowledged.insert(writer, write);
    };
    for _ in 0..writes {
        record(&next_line(&mut output).expect("the writer ended"));
    }
    writer.kill().unwrap();
    // Everything printed before the kill was acknowledged, too.
    while let Some(line) = next_line(&mut output) {
        record(&line);
    }
    writer.wait().unwrap();
}

async fn run(engine: &str) {
    let seed = Random::system().number();
    eprintln!("engine {engine}, seed {seed}");
    let random = Random::seeded(seed);
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::new();
    for _ in 0..kills() {
        kill_after(engine, directory.path(), 1 + random.number() % 1_500, &mut acknowledged);
        let locked = DataDirectory::open(directory.path()).unwrap();
        let store = match engine {
            "embedded" => Store::open(Embedded::open(&locked).unwrap(), Clock::system()).await,
            "sled" => Store::open(store::Sled::open(&locked).unwrap(), Clock::system()).await,
            other => panic!("no engine {other}"),
        };
        let store = store.unwrap();
        check(&store, &acknowledged);
        // The next round starts from the stored state, which may include an unacknowledged write.
        for (writer, write) in &mut acknowledged {
            let stored = store.get(&crash::kill::key(*writer)).unwrap();
            *write = (crash::kill::count(&stored), stored.mod_revision.0);
        }
    }
}

#[tokio::test]
async fn a_killed_writer_loses_nothing_answered() {
    run("embedded").await;
}

#[tokio::test]
async fn a_killed_writer_loses_nothing_answered_by_sled() {
    run("sled").await;
}
