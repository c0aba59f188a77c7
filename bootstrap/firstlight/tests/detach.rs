//! A server in the background: `serve --detach`, `wait` and `stop`.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::detached::{Folder, run};

#[test]
fn whoever_waits_for_a_server_is_told_that_it_has_ended() {
    let folder = Folder::new();
    let data = folder.data("data");
    let (code, printed) =
        run(&["serve", "--detach", "--controllers", "none", "--listen", "127.0.0.1:0"], &data);
    assert_eq!(code, Some(0), "{printed}");
    let waiting = ["wait", "status --watch", "status --watch -o json"].map(|command| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        child
            .args(command.split(' '))
            .arg("--data-dir")
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        (command, child.spawn().unwrap())
    });
    let (code, printed) = run(&["stop"], &data);
    assert_eq!(code, Some(0), "{printed}");
    for (command, child) in waiting {
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {error}");
        // A command that had not connected yet finds nobody.
        let ended = error.contains("has ended")
            || error.contains("no server runs on")
            || error.contains("does not answer");
        assert!(ended && error.lines().count() == 1, "{command}: {error}");
    }
}

#[test]
fn a_detached_server_runs_until_it_is_stopped() {
    let folder = Folder::new();
    let data = folder.data("data");
    let serve = ["serve", "--detach", "--controllers", "none", "--listen", "127.0.0.1:0"];
    let cases: [(&[&str], i32, &str); 9] = [
        (&["stop"], 0, "No server runs on"),
        (&["wait", "--timeout", "1s"], 1, "no server runs on"),
        (&serve, 0, "firstlight is up at https://127.0.0.1:"),
        (&serve, 1, "already; stop it with `firstlight stop`"),
        (&["status"], 0, "No clusters."),
        (&["wait", "--timeout", "1s"], 1, "not complete after 1s:\n  there is no Cluster"),
        (&["stop"], 0, "Stopped."),
        (&["stop"], 0, "No server runs on"),
        (&["serve", "--detach", "--listen", "192.0.2.1:1"], 1, "cannot listen on 192.0.2.1:1"),
    ];
    for (arguments, code, expected) in cases {
        let (found, printed) = run(arguments, &data);
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
        assert_eq!(found, Some(code), "{arguments:?}: {printed}");
    }
}

#[test]
fn a_pivot_logs_no_warning_and_status_says_where_the_clusters_are() {
    let folder = Folder::new();
    let (source, target) = (folder.data("source"), folder.data("target"));
    let done = |arguments: &[&str], data: &Path| {
        let (code, printed) = run(arguments, data);
        assert_eq!(code, Some(0), "{arguments:?}: {printed}");
        printed
    };
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/first-cluster.yaml");
    done(&["up", "-f", example, "--listen", "127.0.0.1:0", "--exit", "--wait", "3m"], &source);
    let serve = ["serve", "--detach", "--listen", "127.0.0.1:0"];
    done(&serve, &source);
    done(&serve, &target);
    done(&["wait", "--timeout", "3m"], &source);
    let kubeconfig = target.join("kubeconfig");
    done(&["pivot", "--to-kubeconfig", kubeconfig.to_str().unwrap()], &source);
    done(&["wait", "--timeout", "3m"], &target);
    assert!(
        done(&["status"], &source)
            .contains("Pivot:      the clusters were handed over to https://127.0.0.1:")
    );
    let report: serde_json::Value = serde_json::from_str(&done(&["status", "-o", "json"], &target)).unwrap();
    let cluster = &report["objects"][0];
    assert_eq!(
        (&cluster["kind"], &cluster["namespace"], &cluster["name"]),
        (&"Cluster".into(), &"default".into(), &"first".into())
    );
    assert!(
        cluster["conditions"].as_array().unwrap().iter().any(|condition| condition["type"] == "Available")
    );
    for data in [&source, &target] {
        done(&["stop"], data);
        let log = done(&["logs"], data);
        let warnings: Vec<&str> =
            log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
        assert!(warnings.is_empty(), "{}: {warnings:#?}", data.display());
    }
    let (code, printed) = run(&["status"], &source);
    assert!(code == Some(1) && printed.contains("--start-afresh"), "{printed}");
}

#[test]
fn wait_returns_after_a_restart() {
    let folder = Folder::new();
    let data = folder.data("data");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minimal.yaml");
    let up = ["up", "--listen", "127.0.0.1:0", "--exit", "--wait", "3m", "-f", example.to_str().unwrap()];
    let (code, printed) = run(&up, &data);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("Machine default/minimal-control-plane-"), "{printed}");
    for arguments in ["serve --detach --listen 127.0.0.1:0", "wait --timeout 120s", "status", "stop"] {
        let (code, printed) = run(&arguments.split(' ').collect::<Vec<&str>>(), &data);
        assert_eq!(code, Some(0), "{arguments}: {printed}");
        assert!(!printed.contains("not confirmed"), "{arguments}: {printed}");
    }
}
