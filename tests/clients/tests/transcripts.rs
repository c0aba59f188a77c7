//! Runs each transcript against a fresh server. `cargo xtask clients` builds the server and runs these tests.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test, which says why it skips")]

use std::path::{Path, PathBuf};

use clients::session::{Tools, play};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
}

/// Held by transcripts with simulated machines: two processes would compete for the ports of the workload
/// clusters.
static MACHINES: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn run(name: &str) {
    let machines = [
        "cluster",
        "clusterctl",
        "install",
        "killed",
        "missing",
        "pivot",
        "plan",
        "undo",
        "upstream_class",
        "verbs",
    ]
    .contains(&name);
    run_file(&folder().join(format!("{name}.txt")), machines);
}

fn run_file(path: &Path, machines: bool) {
    // An earlier failure does not affect the next transcript.
    let _alone = machines.then(|| MACHINES.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Err(error) = runtime.block_on(play(path, &tools, update)) {
        panic!("{error:#}");
    }
}

/// Defines a test for each transcript, and a test that none is missing.
macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_transcript_has_a_test() {
            let mut found: Vec<String> = std::fs::read_dir(folder()).unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".txt").to_owned())
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

#[test]
fn the_tutorial_of_the_pivot() {
    run_file(&clients::session::root().join("docs/tutorials/pivot.md"), true);
}

#[test]
fn the_tutorial_of_healing() {
    run_file(&clients::session::root().join("docs/tutorials/self-healing.md"), true);
}

#[test]
fn the_tutorial_of_classes() {
    run_file(&clients::session::root().join("docs/tutorials/classes.md"), true);
}

#[test]
fn the_tutorial_of_providers() {
    run_file(&clients::session::root().join("docs/tutorials/providers.md"), true);
}

transcripts! {
    access,
    apply,
    backup,
    cluster,
    clusterctl,
    clusterctl_providers,
    delete,
    describe,
    edit,
    get,
    install,
    killed,
    kinds,
    manifests,
    missing,
    older,
    pivot,
    plan,
    portforward,
    processes,
    start,
    undo,
    upstream_class,
    verbs,
    versions,
}
