//! Several servers of one user: their contexts in the user's kubeconfig, and the list of them.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use server::data_directory::DataDirectory;
use tempfile::TempDir;

const PROD: &str = "# mine\napiVersion: v1\nclusters:\n- cluster: {server: https://prod.example.com}\n  name: prod\ncontexts:\n\
    - context: {cluster: prod, user: prod}\n  name: prod\ncurrent-context: prod\nkind: Config\nusers:\n- name: prod\n  user: {}\n";
const SERVE: [&str; 6] = ["serve", "--detach", "--controllers", "none", "--listen", "localhost:0"];

/// A home folder, with a kubeconfig.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::write(home.config(), PROD).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config")
    }

    fn data(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command to its end; returns its exit code and what it printed.
    fn run(&self, arguments: &[&str], data: Option<&str>) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(arguments).env("HOME", self.0.path()).env("KUBECONFIG", self.config());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_DATA_HOME").env_remove("FIRSTLIGHT_DATA_DIR");
        if let Some(data) = data {
            command.arg("--data-dir").arg(self.data(data));
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    fn done(&self, arguments: &[&str], data: &str) -> String {
        let (code, printed) = self.run(arguments, Some(data));
        assert_eq!(code, Some(0), "{arguments:?}: {printed}");
        printed
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.config()).unwrap()
    }

    fn current(&self) -> String {
        let config: Value = serde_saphyr::from_str(&self.text()).unwrap();
        config["current-context"].as_str().unwrap().to_owned()
    }

    /// Returns name, state and data directory of each server.
    fn list(&self) -> Vec<(String, String, PathBuf)> {
        let (code, printed) = self.run(&["list", "-o", "json"], None);
        assert_eq!(code, Some(0), "{printed}");
        let servers: Vec<Value> = serde_json::from_str(&printed).unwrap();
        let text = |server: &Value, key: &str| server[key].as_str().unwrap().to_owned();
        let row = |server: &Value| {
            assert_eq!(server["address"].is_string(), server["state"] == "running", "{server}");
            (text(server, "name"), text(server, "state"), text(server, "dataDirectory").into())
        };
        servers.iter().map(row).collect()
    }
}

/// Ends every server, whatever a test found.
impl Drop for Home {
    fn drop(&mut self) {
        for (_, state, data) in self.list() {
            if state == "running" {
                self.run(&["stop"], data.file_name().unwrap().to_str());
            }
        }
    }
}

#[test]
fn each_server_has_its_context_and_takes_it_away() {
    let home = Home::new();
    home.done(&[&SERVE[..], &["--merge-kubeconfig"]].concat(), "one");
    assert_eq!(home.current(), "firstlight-one");
    home.done(&[&SERVE[..], &["--merge-kubeconfig", "--name", "blue"]].concat(), "two");
    assert_eq!(home.current(), "firstlight-blue");
    let with_both = home.text();
    assert!(with_both.starts_with("# mine\n") && with_both.contains("name: firstlight-one"), "{with_both}");

    let row = |name: &str, state: &str, data: &str| (name.to_owned(), state.to_owned(), home.data(data));
    assert_eq!(home.list(), [row("one", "running", "one"), row("blue", "running", "two")]);
    let (_, table) = home.run(&["list"], None);
    assert!(
        table.starts_with("NAME ") && table.contains("https://127.0.0.1:") && table.contains("none"),
        "{table}"
    );

    // Another server must not take a name that is taken.
    let (code, printed) =
        home.run(&[&SERVE[..], &["--merge-kubeconfig", "--name", "one"]].concat(), Some("three"));
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("has an entry firstlight-one") && printed.contains("--name"), "{printed}");
    assert_eq!(home.text(), with_both);

    let printed = home.done(&["stop"], "two");
    assert!(printed.contains("Stopped."), "{printed}");
    assert_eq!(home.current(), "firstlight-one", "the context from before");
    home.done(&["stop"], "one");
    assert_eq!(home.text(), PROD);
    assert_eq!(home.list(), [row("one", "stopped", "one"), row("two", "stopped", "two")]);
    std::fs::remove_dir_all(home.data("two")).unwrap();
    assert_eq!(home.list(), [row("one", "stopped", "one")]);
}

#[test]
fn a_server_that_was_killed_is_told_and_taken_out() {
    let home = Home::new();
    home.done(&SERVE, "data");
    assert_eq!(home.text(), PROD, "nobody has asked for it");
    let printed = home.done(&["kubeconfig", "--merge"], "data");
    assert!(printed.contains("its current context is firstlight-data"), "{printed}");
    kill(&home.data("data"));
    let (code, printed) = home.run(&["status"], Some("data"));
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("was killed") && printed.contains("continues"), "{printed}");
    assert_eq!(home.list()[0].1, "killed");
    // The next server goes on with the context, at its new address.
    home.done(&SERVE, "data");
    let server =
        serde_saphyr::from_str::<Value>(&std::fs::read_to_string(home.data("data/kubeconfig")).unwrap());
    let server = server.unwrap()["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
    assert!(home.text().contains(&server), "{}", home.text());
    kill(&home.data("data"));
    let printed = home.done(&["stop"], "data");
    assert!(printed.contains("No server runs on") && printed.contains("were taken out of"), "{printed}");
    assert_eq!(home.text(), PROD);
    let printed = home.done(&["kubeconfig", "--unmerge"], "data");
    assert!(printed.contains("merged into no kubeconfig"), "{printed}");
}

/// Kills the server of a data directory, and waits until it is gone.
fn kill(data: &Path) {
    let running: Value = serde_json::from_slice(&std::fs::read(data.join("server.json")).unwrap()).unwrap();
    let process = Pid::from_raw(i32::try_from(running["pid"].as_i64().unwrap()).unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
    let directory = DataDirectory::locate(Some(data)).unwrap();
    let is_gone = (0..1_000_000).any(|_| {
        std::thread::yield_now();
        !directory.is_locked().unwrap()
    });
    assert!(is_gone, "the lock of a killed process is released");
}
