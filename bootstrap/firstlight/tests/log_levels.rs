//! What the log says of the controllers' work, by `--log-level` and `RUST_LOG`.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Brings up a cluster with these flags and `RUST_LOG`, not on a terminal.
fn up(flags: &[&str], filter: Option<&str>) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minimal.yaml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(["up", "--exit", "--wait", "3m", "--listen", "127.0.0.1:0", "-f"]).arg(example).args(flags);
    command.arg("--data-dir").arg(folder.path().join("data")).env("HOME", folder.path());
    match filter {
        Some(filter) => command.env("RUST_LOG", filter),
        None => command.env_remove("RUST_LOG"),
    };
    command.output().unwrap()
}

/// Returns the lines of the log: the level and the message of each.
fn lines(output: &Output) -> Vec<(String, String)> {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::str::from_utf8(&output.stderr).unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (line["level"].as_str().unwrap().to_owned(), line["fields"]["message"].to_string())
    };
    text.lines().map(read).collect()
}

fn levels(lines: &[(String, String)]) -> BTreeSet<&str> {
    lines.iter().map(|(level, _)| level.as_str()).collect()
}

#[test]
fn the_log_says_what_reconciles_did_and_level_and_filter_how_much() {
    // Its own lines are enough where there is no terminal.
    assert_eq!(lines(&up(&[], None)), []);
    let usual = up(&["--log-level", "info"], None);
    let said = lines(&usual);
    assert_eq!(levels(&said), ["INFO"].into());
    for did in [
        "created Machine default/minimal-control-plane-",
        "created Secret default/minimal-kubeconfig",
        "changed Cluster default/minimal",
    ] {
        assert!(said.iter().any(|(_, message)| message.contains(did)), "{did}: {said:?}");
    }
    // Objects are named, and what is in them is not.
    assert!(!String::from_utf8_lossy(&usual.stderr).contains("-----BEGIN"));
    assert_eq!(lines(&up(&["--log-level", "warn"], None)), []);
    assert_eq!(
        lines(&up(&["--log-level", "debug"], Some("error"))),
        [],
        "the filter for each part counts first"
    );
    assert!(levels(&lines(&up(&["--log-level", "debug"], None))).contains("DEBUG"));
    let some = lines(&up(&[], Some("warn,engine=info")));
    assert!(some.iter().all(|(_, message)| !message.contains("certificate")), "{some:?}");
    assert!(some.iter().any(|(_, message)| message.contains("changed Cluster")), "{some:?}");
}

#[test]
fn a_level_that_there_is_not_is_refused_with_those_that_there_are() {
    let output = up(&["--log-level", "loud"], None);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    for word in ["--log-level", "loud", "error, warn, info, debug, trace"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
