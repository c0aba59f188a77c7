//! kill -9 of the real server under load. `cargo xtask crash` builds the binary and sets `FIRSTLIGHT_BINARY`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test, which prints its seed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use machinery::random::Random;
use redb::ReadableDatabase;
use test_server::Server;
use tokio::sync::mpsc;

const WRITERS: u64 = 8;
const KILLS: u64 = 6;
const PATIENCE: Duration = Duration::from_secs(60);

/// An acknowledged write.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Write {
    count: u64,
    revision: u64,
}

/// Starts a server without controllers on `directory`.
async fn start(binary: &Path, directory: &Path) -> Server {
    Server::start(binary, directory, &["--controllers", "none"]).await.unwrap()
}

async fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::namespaced(server.client().await.unwrap(), "default")
}

fn write_of(object: &ConfigMap) -> Write {
    let count = object.data.as_ref().and_then(|data| data.get("count")).unwrap().parse().unwrap();
    let revision = object.metadata.resource_version.as_ref().unwrap().parse().unwrap();
    Write { count, revision }
}

/// Writes until the server is gone.
async fn write(
    api: Api<ConfigMap>,
    writer: u64,
    mut last: Option<ConfigMap>,
    done: mpsc::UnboundedSender<(u64, Write)>,
) {
    loop {
        let count = last.as_ref().map_or(0, |object| write_of(object).count) + 1;
        let name = format!("writer-{writer}");
        let mut object = last.take().unwrap_or_default();
        object.metadata.name = Some(name.clone());
        object.data = Some(BTreeMap::from([("count".to_owned(), count.to_string())]));
        let answer = if count == 1 {
            api.create(&PostParams::default(), &object).await
        } else {
            api.replace(&name, &PostParams::default(), &object).await
        };
        match answer {
            Ok(object) => {
                let _gone = done.send((writer, write_of(&object)));
                last = Some(object);
            }
            Err(kube::Error::Api(status)) => panic!("{status:?}"),
            Err(_) => return,
        }
    }
}

/// Returns all stored objects, after comparing them with the acknowledged writes.
async fn check(server: &Server, acknowledged: &BTreeMap<u64, Write>) -> BTreeMap<u64, ConfigMap> {
    let list = config_maps(server).await.list(&ListParams::default()).await.unwrap();
    let mut found = BTreeMap::new();
    for object in list.items {
        let name = object.metadata.name.clone().unwrap();
        if let Some(writer) = name.strip_prefix("writer-").and_then(|writer| writer.parse().ok()) {
            found.insert(writer, object);
        }
    }
    for (writer, acknowledged) in acknowledged {
        let found = write_of(found.get(writer).expect("an acknowledged object is lost"));
        assert!(found >= *acknowledged, "{found:?} found, {acknowledged:?} acknowledged");
        assert!(found.count <= acknowledged.count + 1, "{found:?} found, {acknowledged:?} acknowledged");
    }
    found
}

async fn kill_under_load(binary: &Path) {
    let seed = Random::system().number();
    eprintln!("seed {seed}");
    let random = Random::seeded(seed);
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<u64, Write> = BTreeMap::new();
    for _ in 0..KILLS {
        let mut server = start(binary, directory.path()).await;
        let found = check(&server, &acknowledged).await;
        // The next round starts from the stored state, which may include an unacknowledged write.
        acknowledged.extend(found.iter().map(|(writer, object)| (*writer, write_of(object))));
        let highest = found.values().map(|object| write_of(object).revision).max().unwrap_or(0);
        let (done, mut answers) = mpsc::unbounded_channel();
        let api = config_maps(&server).await;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write(api.clone(), writer, found.get(&writer).cloned(), done.clone())))
            .collect();
        drop(done);
        let mut left = 1 + random.number() % 400;
        while let Some((writer, write)) =
            tokio::time::timeout(PATIENCE, answers.recv()).await.expect("no answer")
        {
            assert!(write.revision > highest, "revision {} was used before", write.revision);
            acknowledged.insert(writer, write);
            left = left.saturating_sub(1);
            if left == 0 {
                server.kill().await.unwrap();
                left = u64::MAX;
            }
        }
        for writer in writers {
            writer.await.unwrap();
        }
    }
    let server = start(binary, directory.path()).await;
    check(&server, &acknowledged).await;
}

async fn start_twice(binary: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let first = start(binary, directory.path()).await;
    let second = Command::new(binary)
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(directory.path().join("data"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("process {}", first.id().unwrap())), "{message}");
    check(&first, &BTreeMap::new()).await;
}

/// Checks that the server refuses a store of a newer, unknown format.
async fn start_on_newer(binary: &Path) {
    let directory = tempfile::tempdir().unwrap();
    start(binary, directory.path()).await.kill().await.unwrap();
    let data = directory.path().join("data");
    let store = data.join("store.redb");
    let database = redb::Database::open(&store).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
    transaction.open_table(meta).unwrap().insert("format", 99).unwrap();
    transaction.commit().unwrap();
    let before = rows(&database);
    drop(database);
    let refused = Command::new(binary)
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(message.contains("storage format 99") && message.contains("use a newer firstlight"), "{message}");
    // The engine marks its file when it opens it, but the store's contents are unchanged.
    assert_eq!(rows(&redb::Database::open(&store).unwrap()), before);
}

/// Returns revision and bytes of every row of the store.
fn rows(database: &redb::Database) -> Vec<(u64, Vec<u8>)> {
    let changes: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("changes");
    let table = database.begin_read().unwrap().open_table(changes).unwrap();
    let mut rows = Vec::new();
    for row in table.range::<u64>(..).unwrap() {
        let (revision, value) = row.unwrap();
        rows.push((revision.value(), value.value().to_vec()));
    }
    rows
}

fn binary() -> Option<PathBuf> {
    let binary = std::env::var_os("FIRSTLIGHT_BINARY").map(PathBuf::from);
    if binary.is_none() {
        eprintln!("skipped: `cargo xtask crash` builds the server and runs this");
    }
    binary
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_answered() {
    if let Some(binary) = binary() {
        kill_under_load(&binary).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_is_told_who_holds_the_directory() {
    if let Some(binary) = binary() {
        start_twice(&binary).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_data_directory_is_refused_and_left_as_it_is() {
    if let Some(binary) = binary() {
        start_on_newer(&binary).await;
    }
}
