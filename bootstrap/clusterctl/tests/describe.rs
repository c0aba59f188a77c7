//! Describes recorded clusters and compares with the descriptions of clusterctl 1.14 (`data/describe`).
//!
//! A recording is a few seconds older than its descriptions. Ages therefore differ, so only the form of their column is compared. For
//! some descriptions the objects had also changed: a message was different, a machine was deleted, another one had joined its group.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod messages;

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clusterctl::describe::{Options, Snapshot, text};
use regex::Regex;
use serde_json::{Value, json};

/// Descriptions that were made after the recorded objects had changed.
const MOVED_ON: [(&str, &str); 9] = [
    ("plain-2.txt", "--echo"),
    ("plain-5.txt", "--show-conditions Machine"),
    ("plain-5.txt", "--grouping=false"),
    ("plain-5.txt", "--echo"),
    ("plain-5.txt", "--show-templates --show-machinesets --show-resourcesets"),
    ("plain-running.txt", "--grouping=false"),
    ("plain-running.txt", "--echo"),
    ("plain-running.txt", "--show-templates --show-machinesets --show-resourcesets"),
    ("plain-running.txt", "--v1beta2=false"),
];

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../clusterctl")).join("tests/data/describe")
}

struct Description {
    arguments: String,
    output: String,
}

/// The recorded `$ clusterctl describe …`, its output, and `exit 0`.
fn descriptions(text: &str) -> Vec<Description> {
    let mut found: Vec<Description> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(arguments) = line.strip_prefix("$ clusterctl describe cluster plain -n life-plain") {
            found.push(Description { arguments: arguments.trim().to_owned(), output: String::new() });
        } else if let Some(last) = found.last_mut() {
            last.output.push_str(line);
        }
    }
    for description in &mut found {
        let output = description.output.trim_end_matches('\n');
        description.output = output.strip_suffix("exit 0").expect("a recorded exit code").to_owned();
    }
    found
}

fn options(arguments: &str) -> Options {
    let mut options = Options { grouping: true, ..Options::default() };
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--echo" => options.echo = true,
            "--grouping=false" => options.grouping = false,
            "--show-conditions" => words.next().unwrap().clone_into(&mut options.show_conditions),
            "--show-templates" => options.templates = true,
            "--show-machinesets" => options.machine_sets = true,
            "--show-resourcesets" => options.resource_sets = true,
            "--v1beta2=false" => options.legacy = true,
            other => panic!("{other}"),
        }
    }
    options
}

/// Replaces ages by `AGE`, and makes their column as wide as its title needs.
fn without_ages(text: &str) -> String {
    let header = text.lines().find(|line| line.starts_with("NAME")).expect("a header");
    let since = header.find("SINCE").expect("a column of ages");
    let message = header.find("MESSAGE").expect("a column of messages");
    let start = header[..since].chars().count();
    let width = message - since;
    let age = Regex::new(r"^(\d+[smhdy])+ *$").unwrap();
    let mut result = String::new();
    for line in text.lines().filter(|line| !line.starts_with("Flag ")) {
        let characters: Vec<char> = line.chars().collect();
        let cell: String = characters[start..start + width].iter().collect();
        let shown = if age.is_match(&cell) { "AGE".to_owned() } else { cell.trim_end().to_owned() };
        result.extend(&characters[..start]);
        result.push_str(&format!("|{shown}|"));
        result.extend(&characters[start + width..]);
        result.push('\n');
    }
    result
}

#[test]
fn recorded_clusters() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "txt")) {
        let recorded = std::fs::read_to_string(path.with_extension("objects.json")).unwrap();
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let now: DateTime<Utc> = recorded["recordedAt"].as_str().unwrap().parse().unwrap();
        let snapshot = Snapshot::new(recorded["items"].as_array().unwrap().clone());
        for description in descriptions(&std::fs::read_to_string(path).unwrap()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if MOVED_ON.contains(&(name.as_str(), description.arguments.as_str())) {
                continue;
            }
            let found =
                text(&snapshot, "life-plain", "plain", &options(&description.arguments), now).unwrap();
            let (found, expected) = (without_ages(&found), without_ages(&description.output));
            count += 1;
            if found != expected {
                let pairs = expected.lines().zip(found.lines()).filter(|(a, b)| a != b);
                let lines: String = pairs.take(5).map(|(a, b)| format!("- {a}\n+ {b}\n")).collect();
                let sizes = (expected.lines().count(), found.lines().count());
                wrong.push(format!("{name} {}: {sizes:?}\n{lines}", description.arguments));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(count, 26);
}

/// Tenants, Nodes and BMCs write the messages of conditions.
#[test]
fn what_others_wrote_is_escaped() {
    let forged = "first\r\u{1b}[2K\u{9b}1A\u{7f}\u{202e}\u{200b}\u{2028}last";
    let condition = |name: &str| json!({"type": name, "status": "False", "reason": forged, "message": format!("{forged}\n{forged}")});
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"namespace": "default", "name": "first", "uid": "1"},
        "spec": {"topology": {"classRef": {"name": "any"}, "version": forged}},
        "status": {
            "conditions": [condition("Available"), condition(forged)],
            "deprecated": {"v1beta1": {"conditions": [condition("Ready"), condition(forged)]}},
        },
    });
    let snapshot = Snapshot::new(vec![cluster]);
    for legacy in [false, true] {
        let options = Options { legacy, show_conditions: "all".to_owned(), ..Options::default() };
        let shown = text(&snapshot, "default", "first", &options, DateTime::UNIX_EPOCH).unwrap();
        let found = shown.chars().find(|c| terminal::is_unsafe(*c) && *c != '\n');
        assert_eq!(found, None, "{shown}");
        assert!(shown.contains("first\\r\\u001b[2K\\u009b1A\\u007f\\u202e\\u200b\\u2028last"), "{shown}");
    }
}
