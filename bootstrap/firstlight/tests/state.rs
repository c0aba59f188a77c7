//! Tests of the program, the state of its data directory, and its exit codes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pivot::Journal;
use pivot::journal::{FileDisk, Header, Record};
use server::backup::JOURNAL;

const CLUSTER: &str = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: first, namespace: default}, \
                       spec: {paused: true, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: first}}}";

fn firstlight(arguments: &[&str], data: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(arguments)
        .arg("--data-dir")
        .arg(data)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a line of the output.
fn wait_for(child: &mut Child, line: &str) {
    let output = child.stdout.as_mut().unwrap();
    let found = BufReader::new(output).lines().map_while(Result::ok).any(|found| found.starts_with(line));
    assert!(found, "it ended before it said {line:?}");
}

/// Sends a signal (`-INT`, `-TERM`), and returns the exit code.
fn end(mut child: Child, signal: &str) -> Option<i32> {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    child.wait().unwrap().code()
}

/// Returns the exit code of a program that ends by itself, and its standard error.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

fn manifest(folder: &Path) -> String {
    let path = folder.join("cluster.yaml");
    std::fs::write(&path, CLUSTER).unwrap();
    path.display().to_string()
}

#[test]
fn a_signal_ends_a_server_that_still_starts() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // It waits for whoever writes this kubeconfig.
    let others = folder.path().join("others");
    std::fs::create_dir(&others).unwrap();
    let turn = std::fs::File::open(&others).unwrap();
    turn.lock().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(["serve", "--controllers", "none", "--listen", "127.0.0.1:0", "--merge-kubeconfig"]);
    command.arg("--data-dir").arg(&data).env("KUBECONFIG", others.join("config"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !data.join("kubeconfig").exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it waits");
        std::thread::yield_now();
    }
    assert_eq!(end(child, "-TERM"), Some(143));
    drop(turn);
}

#[test]
fn a_signal_before_the_clusters_are_available_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = manifest(folder.path());
    let with_cluster = ["up", "--controllers", "none", "-f", file.as_str()];
    let server_alone = ["up", "--controllers", "none", "--store", "memory"];
    for (arguments, signal, line, expected) in [
        (&with_cluster[..], "-INT", "cluster", 130),
        (&with_cluster[..], "-TERM", "cluster", 143),
        (&server_alone[..], "-INT", "export", 0),
    ] {
        let data = folder.path().join(format!("data{signal}{expected}"));
        let mut child = firstlight(arguments, &data);
        wait_for(&mut child, line);
        assert_eq!(end(child, signal), Some(expected), "{arguments:?} {signal}");
    }
}

#[test]
fn a_lost_store_is_not_replaced_by_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let serve = ["up", "--controllers", "none"];
    let mut child = firstlight(&serve, &data);
    wait_for(&mut child, "export");
    end(child, "-TERM");
    std::fs::rename(data.join("store.redb"), folder.path().join("store.redb")).unwrap();
    let (code, said) = ended(firstlight(&serve, &data));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("store.redb is gone") && said.contains("pki"), "{said}");
    assert!(!data.join("store.redb").exists());
    std::fs::rename(folder.path().join("store.redb"), data.join("store.redb")).unwrap();
    let mut child = firstlight(&serve, &data);
    wait_for(&mut child, "export");
    end(child, "-TERM");
}

#[test]
fn what_was_handed_over_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = manifest(folder.path());
    let mut child = firstlight(&["up", "--controllers", "none"], &data);
    wait_for(&mut child, "export");
    end(child, "-TERM");
    let mut journal = Journal::open(Box::new(FileDisk::open(&data.join(JOURNAL)).unwrap())).unwrap();
    let header = Header {
        id: "1".into(),
        source: "s".into(),
        target: "t".into(),
        target_name: "https://real.example:6443/".into(),
        namespace: String::new(),
        keep_source: false,
    };
    for record in [Record::Started(header), Record::HandedOver, Record::Unpaused, Record::Done] {
        journal.append(record).unwrap();
    }
    drop(journal);
    for arguments in
        [&["up"][..], &["up", "-f", &file], &["up", "--controllers", "none", "-f", &file], &["serve"]]
    {
        let (code, said) = ended(firstlight(arguments, &data));
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains("https://real.example:6443/") && said.contains("--start-afresh"), "{said}");
    }
    for arguments in [
        &["up", "--controllers", "none"][..],
        &["up", "--start-afresh", "--controllers", "none", "-f", &file],
    ] {
        let mut child = firstlight(arguments, &data);
        wait_for(&mut child, "export");
        end(child, "-TERM");
    }
    assert!(data.join("pivot.1.journal").exists());
}
