//! Programs based on the client libraries of common languages, each against a fresh server.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test, which says why it skips")]

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use clients::session::{Tools, root};
use test_server::Server;
use tokio::process::Command;

const DEADLINE: Duration = Duration::from_secs(300);

fn tools() -> Option<Tools> {
    // Where skipping is not allowed, this panics.
    Tools::find().map_err(|reason| eprintln!("skipped: {reason}")).ok()
}

/// Runs `program ARGUMENTS`, a path in `target/tools` or a command, with the kubeconfig of a fresh server.
async fn run(program: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let Some(tools) = tools() else { return };
    let directory = tempfile::tempdir().unwrap();
    let server =
        Server::start(&tools.firstlight, directory.path(), &["--controllers", "none"]).await.unwrap();
    let kubeconfig = server.kubeconfig();
    let mut variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    variables.push(("KUBECONFIG", kubeconfig.as_os_str()));
    execute(&tools, program, arguments, &variables).await;
    drop(server);
}

/// Runs a program; a failure shows its output.
async fn execute(tools: &Tools, program: &str, arguments: &[&str], variables: &[(&str, &OsStr)]) {
    let installed = tools.clients.join(program);
    let child = Command::new(if installed.exists() { installed.as_os_str() } else { program.as_ref() })
        .args(arguments)
        .current_dir(root())
        .envs(variables.iter().copied())
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
}

/// Runs the envtest suite with this binary under the names of envtest's own programs.
async fn envtest(controllers: &str) {
    let Some(tools) = tools() else { return };
    let directory = tempfile::tempdir().unwrap();
    let filled = Command::new(&tools.firstlight).arg("envtest").arg(directory.path()).output().await.unwrap();
    let expected = format!("export KUBEBUILDER_ASSETS={}\n", directory.path().display());
    assert_eq!(String::from_utf8_lossy(&filled.stdout), expected);
    let variables = [
        ("KUBEBUILDER_ASSETS", directory.path().as_os_str()),
        ("FIRSTLIGHT_ENVTEST_CONTROLLERS", controllers.as_ref()),
    ];
    execute(&tools, "envtest", &[], &variables).await;
}

#[tokio::test]
async fn envtest_as_with_its_own_binaries() {
    envtest("").await;
}

#[tokio::test]
async fn envtest_with_garbage_collection_and_namespace_deletion() {
    envtest("1").await;
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
