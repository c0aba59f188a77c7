//! Tests of backups of running and stopped servers, their restoration, and their damage.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests, which print their seeds")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use serde_json::{Value, json};
use server::backup::{REVISION_GAP, restore, take, verify_directory, verify_file};
use server::data_directory::DataDirectory;
use server::options::{ServerOptions, StoreChoice};
use server::process::Process;
use tempfile::TempDir;

use crate::place::options;

async fn start(path: &Path) -> Process {
    let options = ServerOptions { store: StoreChoice::Embedded, ..options(path, "none", &[]) };
    Process::start(&options).await.unwrap()
}

/// Stops a server and waits until its lock is free: the last holder of the store releases it.
async fn stop(process: Process, path: &Path) {
    process.stop().await;
    while store::DataDirectory::open(path).is_err() {
        tokio::task::yield_now().await;
    }
}

fn located(path: &Path) -> DataDirectory {
    DataDirectory::locate(Some(path)).unwrap()
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"value": value}})).unwrap()
}

async fn get(client: &Client, path: &str) -> Value {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request(request).await.unwrap()
}

/// Returns the lists of several kinds.
async fn lists(client: &Client) -> Vec<Value> {
    let mut lists = Vec::new();
    for path in [
        "/api/v1/configmaps",
        "/api/v1/namespaces",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/cluster.x-k8s.io/v1beta2/clusters",
    ] {
        lists.push(get(client, path).await["items"].clone());
    }
    lists
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

async fn refusal(directory: &Path, file: &Path, replace: bool) -> String {
    let outcome = restore(&located(directory), file, replace, &Clock::system()).await;
    format!("{:#}", outcome.unwrap_err())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_server_is_the_one_of_that_moment() {
    let place = Place::new();
    let (data, file, restored) = (place.at("data"), place.at("backup"), place.at("restored"));
    let process = start(&data).await;
    let client = process.plane.client("test");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let kept = maps.create(&PostParams::default(), &config_map("kept", "before")).await.unwrap();
    let before = lists(&client).await;
    let header = take(&located(&data), &file, &Clock::system()).await.unwrap();
    assert_eq!(verify_file(&file).unwrap(), header);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let later = maps.create(&PostParams::default(), &config_map("later", "after")).await.unwrap();
    let refused = refusal(&data, &file, true).await;
    assert!(refused.contains("is in use by process"), "{refused}");
    drop((client, maps));
    stop(process, &data).await;
    let done = restore(&located(&restored), &file, false, &Clock::system()).await.unwrap();
    assert_eq!((done.header.clone(), done.replaced), (header.clone(), None));
    let names = place.0.path().read_dir().unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["backup", "data", "restored"]);
    for name in ["ca.crt", "ca.key", "service-account.key"] {
        let read = |directory: &Path| std::fs::read(directory.join("pki").join(name)).unwrap();
        assert_eq!(read(&data), read(&restored), "{name}");
    }

    let process = start(&restored).await;
    let client = process.plane.client("test");
    assert_eq!(lists(&client).await, before);
    // Revisions after the backup belong to another history.
    let seen = later.metadata.resource_version.unwrap();
    let watch =
        format!("/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&resourceVersion={seen}");
    let request = http::Request::get(watch).body(Vec::new()).unwrap();
    let event: Value = serde_json::from_str(&client.request_text(request).await.unwrap()).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut changed = kept.clone();
    changed.data.get_or_insert_default().insert("value".into(), "again".into());
    let changed = maps.replace("kept", &PostParams::default(), &changed).await.unwrap();
    let revision: u64 = changed.metadata.resource_version.unwrap().parse().unwrap();
    assert!(revision > header.revision + REVISION_GAP, "{revision}");
    assert_eq!(changed.metadata.uid, kept.metadata.uid);
    drop((client, maps));
    stop(process, &restored).await;
    verify_directory(&located(&restored), &Clock::system()).await.unwrap();
}

/// Creates and deletes objects until `ended`; returns the number of operations.
async fn write(maps: Api<ConfigMap>, writer: usize, ended: Arc<AtomicBool>) -> usize {
    let mut number = 0;
    while !ended.load(Ordering::Relaxed) {
        let map = config_map(&format!("w{writer}-{number}"), "x");
        maps.create(&PostParams::default(), &map).await.unwrap();
        if number % 3 == 2 {
            maps.delete(&format!("w{writer}-{}", number - 2), &Default::default()).await.unwrap();
        }
        number += 1;
    }
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_a_moment_of_history() {
    let place = Place::new();
    let data = place.at("data");
    let process = start(&data).await;
    let client = process.plane.client("test");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let ended = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..8).map(|writer| tokio::spawn(write(maps.clone(), writer, ended.clone()))).collect();
    let mut moments: Vec<(PathBuf, u64)> = Vec::new();
    for number in 0..3 {
        // Each backup must contain something that the one before did not.
        let until = moments.last().map_or(50, |(_, last)| last + 50);
        loop {
            let list = maps.list(&ListParams::default().limit(1)).await.unwrap();
            if list.metadata.resource_version.unwrap().parse::<u64>().unwrap() > until {
                break;
            }
        }
        let file = place.at(&format!("backup-{number}"));
        let header = take(&located(&data), &file, &Clock::system()).await.unwrap();
        moments.push((file, header.revision));
    }
    ended.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(writer.await.unwrap() > 0);
    }
    let mut expected = Vec::new();
    for (_, revision) in &moments {
        let then = format!("/api/v1/configmaps?resourceVersion={revision}&resourceVersionMatch=Exact");
        expected.push(get(&client, &then).await["items"].clone());
    }
    process.stop().await;
    for (number, (file, _)) in moments.iter().enumerate() {
        let path = place.at(&format!("restored-{number}"));
        restore(&located(&path), file, false, &Clock::system()).await.unwrap();
        let process = start(&path).await;
        let client = process.plane.client("test");
        assert_eq!(get(&client, "/api/v1/configmaps").await["items"], expected[number]);
        process.stop().await;
    }
}

/// Returns the directory of a stopped server with a few objects.
async fn stopped(place: &Place) -> PathBuf {
    let data = place.at("data");
    let process = start(&data).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(process.plane.client("test"));
    for number in 0..20 {
        let map = config_map(&format!("map-{number}"), &format!("marked-{number}"));
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    drop(maps);
    stop(process, &data).await;
    data
}

fn seeded() -> Random {
    let seed = Random::system().number();
    eprintln!("seed {seed}");
    Random::seeded(seed)
}

fn below(random: &Random, end: usize) -> usize {
    usize::try_from(random.number() % end as u64).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_and_nothing_is_written() {
    let place = Place::new();
    let data = stopped(&place).await;
    let (file, damaged, target) = (place.at("backup"), place.at("damaged"), place.at("target"));
    take(&located(&data), &file, &Clock::system()).await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let random = seeded();
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let bit = below(&random, bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&damaged, bytes).unwrap();
        assert!(verify_file(&damaged).is_err(), "bit {bit}");
    }
    for _ in 0..50 {
        let length = below(&random, whole.len());
        std::fs::write(&damaged, &whole[..length]).unwrap();
        assert!(verify_file(&damaged).is_err(), "length {length}");
    }
    std::fs::write(&damaged, [&whole[..], b"x"].concat()).unwrap();
    assert!(verify_file(&damaged).is_err(), "something follows");
    std::fs::write(&damaged, &whole[..whole.len() - 1]).unwrap();
    let refused = refusal(&target, &damaged, false).await;
    assert!(refused.contains("damaged") && refused.contains("use another backup"), "{refused}");
    assert!(!target.exists() && !place.at("target.restoring").exists());
    let refused = refusal(&target, &place.at("none"), false).await;
    assert!(refused.starts_with("cannot read ") && refused.contains("none"), "{refused}");
    std::fs::write(&damaged, "apiVersion: v1\n").unwrap();
    let refused = refusal(&target, &damaged, false).await;
    assert!(refused.contains("no backup of firstlight"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_written_behind_a_link_and_restored_from_a_pipe_and_a_folder_is_none() {
    let place = Place::new();
    let data = stopped(&place).await;
    let (link, pipe, target) = (place.at("link"), place.at("pipe"), place.at("target"));
    std::os::unix::fs::symlink("file", &link).unwrap();
    take(&located(&data), &link, &Clock::system()).await.unwrap();
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("file"));

    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (from, to) = (place.at("file"), pipe.clone());
    let writing = std::thread::spawn(move || std::fs::write(to, std::fs::read(from).unwrap()).unwrap());
    restore(&located(&target), &pipe, false, &Clock::system()).await.unwrap();
    writing.join().unwrap();
    verify_directory(&located(&target), &Clock::system()).await.unwrap();

    let refused = refusal(&target, &data, true).await;
    assert!(
        refused.ends_with("is a folder and no backup; a data directory is named with --data-dir"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_the_store_is_found_or_changes_nothing() {
    let place = Place::new();
    let data = stopped(&place).await;
    let found = verify_directory(&located(&data), &Clock::system()).await.unwrap();
    let file = data.join("store.redb");
    let whole = std::fs::read(&file).unwrap();
    let random = seeded();
    for round in 0..60 {
        let mut bytes = whole.clone();
        let bit = below(&random, 8);
        let in_value = round < 20;
        if in_value {
            let mark = format!("marked-{round}\"");
            let at = |(at, window): (usize, &[u8])| (window == mark.as_bytes()).then_some(at);
            let places: Vec<usize> = whole.windows(mark.len()).enumerate().filter_map(at).collect();
            assert!(!places.is_empty());
            // Unused pages of the store may contain the value, too.
            places.iter().for_each(|place| bytes[*place] ^= 1 << bit);
        } else {
            bytes[below(&random, whole.len())] ^= 1 << bit;
        }
        std::fs::write(&file, bytes).unwrap();
        match verify_directory(&located(&data), &Clock::system()).await {
            Err(error) => assert!(error.to_string().contains("store.redb"), "{error:#}"),
            Ok(verified) => assert!(!in_value && verified == found, "round {round}, bit {bit}"),
        }
        std::fs::write(&file, &whole).unwrap();
    }
    std::fs::write(data.join("pki/ca.key"), "garbage").unwrap();
    let error = verify_directory(&located(&data), &Clock::system()).await.unwrap_err();
    assert!(error.to_string().contains("ca.key is damaged"), "{error:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_not_empty_is_kept() {
    let place = Place::new();
    let data = stopped(&place).await;
    let file = place.at("backup");
    take(&located(&data), &file, &Clock::system()).await.unwrap();
    let refused = refusal(&data, &file, false).await;
    assert!(refused.contains("is not empty") && refused.contains("--replace"), "{refused}");
    // The remains of a killed restore.
    std::fs::create_dir(place.at("data.restoring")).unwrap();
    drop(store::DataDirectory::open(&place.at("data.restoring")).unwrap());
    std::fs::write(place.at("data.restoring/half"), "").unwrap();
    let done = restore(&located(&data), &file, true, &Clock::system()).await.unwrap();
    assert_eq!(done.replaced, Some(place.at("data.replaced")));
    assert!(place.at("data.replaced/store.redb").exists() && !data.join("half").exists());
    verify_directory(&located(&data), &Clock::system()).await.unwrap();
    let refused = refusal(&data, &file, true).await;
    assert!(refused.contains("data.replaced is there from an earlier restore"), "{refused}");

    let empty = place.at("empty");
    drop(store::DataDirectory::open(&empty).unwrap());
    restore(&located(&empty), &file, false, &Clock::system()).await.unwrap();
    verify_directory(&located(&empty), &Clock::system()).await.unwrap();

    let nothing = take(&located(&place.at("nothing")), &place.at("other"), &Clock::system()).await;
    let error = nothing.unwrap_err().to_string();
    assert!(error.contains("is no data directory of firstlight"), "{error}");
    assert!(!place.at("nothing").exists() && !place.at("other").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_verifies_itself_and_gives_its_objects_to_nobody_else() {
    let place = Place::new();
    let data = place.at("data");
    let process = start(&data).await;
    let verified = verify_directory(&located(&data), &Clock::system()).await.unwrap();
    assert!(verified.objects > 0 && verified.rows >= verified.objects);
    let somebody = access::User::new("somebody", Vec::<String>::new());
    let client = Client::new(process.plane.server.client_service(somebody), "default");
    for path in ["/backup", "/verify", "/controllers", "/controllers/confirmed"] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let error = client.request_text(request).await.unwrap_err().to_string();
        assert!(error.contains(&format!("cannot get path \"{path}\"")), "{error}");
    }
    process.stop().await;
}
