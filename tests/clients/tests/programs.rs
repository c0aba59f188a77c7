//! Programs on the client libraries that controllers and scripts are written with, each against a fresh server.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test, which says why it skips")]

use std::process::Stdio;
use std::time::Duration;

use clients::server::Server;
use clients::session::{Tools, root};
use tokio::process::Command;

const DEADLINE: Duration = Duration::from_secs(300);

/// Runs `program ARGUMENTS`, a path in `target/tools` or a command, with the server's kubeconfig; fails with what it printed.
async fn run(program: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let directory = tempfile::tempdir().unwrap();
    let none = ["--controllers".to_owned(), "none".to_owned()];
    let server = Server::start(&tools.firstlight, directory.path(), &none).await.unwrap();
    let installed = tools.clients.join(program);
    let child = Command::new(if installed.exists() { installed.as_os_str() } else { program.as_ref() })
        .args(arguments)
        .current_dir(root())
        .envs(variables.iter().copied())
        .env("KUBECONFIG", directory.path().join("data/kubeconfig"))
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; tests/clients/install-tools gets it"));
    let output = tokio::time::timeout(DEADLINE, child.wait_with_output()).await.unwrap().unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("ok:"), "{program}:\n{printed}");
    drop(server);
}

#[tokio::test]
async fn client_go_with_watch_lists() {
    run("clientgo", &[], &[("KUBE_FEATURE_WatchListClient", "true")]).await;
}

#[tokio::test]
async fn client_go_without_watch_lists() {
    run("clientgo", &[], &[("KUBE_FEATURE_WatchListClient", "false")]).await;
}

#[tokio::test]
async fn controller_runtime() {
    run("manager", &[], &[]).await;
}

#[tokio::test]
async fn python() {
    run("python/bin/python", &["tests/clients/programs/python/objects.py"], &[]).await;
}

#[tokio::test]
async fn javascript() {
    run("node", &["target/tools/javascript/objects.mjs"], &[]).await;
}
