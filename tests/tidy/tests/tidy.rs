//! Checks the workspace against docs/ARCHITECTURE.md.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top-level folders in docs/ARCHITECTURE.md.
const TOP_FOLDERS: &[&str] =
    &["apiserver", "bootstrap", "controllers", "docs", "examples", "schemas", "tests", "target"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("tests/tidy stands two folders down")
        .to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn sources_are_tidy() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable source");
        let path = file.strip_prefix(root()).expect("below the root").display().to_string();
        found.extend(tidy::sources::violations(&path, &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn dependencies_point_downwards() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let (edges, rooms) = tidy::edges::workspace_edges(&metadata);
    assert!(!edges.is_empty());
    let found = tidy::edges::violations(&edges, &rooms);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_map_names_every_crate_and_no_other_folder_stands_at_the_top() {
    let map = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("docs/ARCHITECTURE.md");
    let mut missing = Vec::new();
    for room in ["apiserver", "controllers", "bootstrap", "tests"] {
        for entry in std::fs::read_dir(root().join(room)).expect("a room").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().join("Cargo.toml").exists() && !map.contains(&name) {
                missing.push(format!("docs/ARCHITECTURE.md does not name {room}/{name}"));
            }
        }
    }
    for entry in std::fs::read_dir(root()).expect("the root").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') && !TOP_FOLDERS.contains(&name.as_str()) {
            missing.push(format!("a folder at the top that the map does not have: {name}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_api_server_knows_nothing_of_cluster_api() {
    let mut files = Vec::new();
    sources(&root().join("apiserver"), &mut files);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let text = std::fs::read_to_string(file).expect("a readable source");
        if text.contains("cluster.x-k8s.io") {
            found.push(file.display().to_string());
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// In a package with one test program, the files are modules of `tests/main.rs`. A file that is not listed
/// there is never compiled.
#[test]
fn every_test_file_is_part_of_a_program() {
    let listed =
        Command::new("git").args(["ls-files", "*Cargo.toml"]).current_dir(root()).output().expect("git runs");
    let mut programs = 0;
    for manifest in String::from_utf8_lossy(&listed.stdout).lines() {
        let manifest = root().join(manifest);
        let text = std::fs::read_to_string(&manifest).expect("a readable manifest");
        if !text.contains("autotests = false") {
            continue;
        }
        programs += 1;
        let folder = manifest.with_file_name("tests");
        let main = std::fs::read_to_string(folder.join("main.rs")).expect("tests/main.rs");
        for file in std::fs::read_dir(&folder).expect("a readable folder").flatten() {
            let path = file.path();
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let rust = path.extension().is_some_and(|extension| extension == "rs");
            let named =
                main.contains(&format!("mod {stem};")) || text.contains(&format!("name = \"{stem}\""));
            assert!(!rust || stem == "main" || named, "{} is in no test program", path.display());
        }
    }
    assert!(programs > 0);
}
