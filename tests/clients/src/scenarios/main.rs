//! `scenarios [NAME...] [--all]`: plays the scenarios of Cluster API's end-to-end specs, or only those with these names, on one server,
//! each in a namespace of its own: all at once, and then the long ones. Run by `cargo xtask clients`.

#![allow(clippy::print_stderr, reason = "says how long each scenario took")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use clients::scenarios::{LONG, chosen, scenarios};
use clients::session::{Tools, play_against, root};
use machinery::clock::Clock;
use tempfile::TempDir;
use test_server::Server;
use tokio::task::JoinSet;

/// Limit for a command of a long scenario.
const LONG_DEADLINE: Duration = Duration::from_secs(600);

fn main() -> Result<()> {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    ensure!(options.iter().all(|option| option == "--all"), "usage: scenarios [NAME...] [--all]");
    let folder = root().join("tests/clients/scenarios");
    let chosen = chosen(scenarios(&folder)?, &names, !options.is_empty());
    if chosen.is_empty() {
        return Ok(());
    }
    let tools = Tools::find().map_err(|reason| anyhow!(reason))?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(play_all(tools, chosen))
}

/// Plays the scenarios on one server, and reports all that failed. Each long one is played alone, after the others: it keeps the server so
/// busy that they would miss their limits.
async fn play_all(tools: Tools, chosen: Vec<(String, PathBuf)>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let server = Server::start(&tools.firstlight, directory.path(), &[]).await?;
    let (long, short): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|(name, _)| LONG.contains(&name.as_str()));
    let mut failures = play_at_once(&tools, &server, short).await?;
    let tools = Tools { deadline: LONG_DEADLINE, ..tools };
    for scenario in long {
        failures.extend(play_at_once(&tools, &server, vec![scenario]).await?);
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// Plays scenarios at the same time. Returns what failed.
async fn play_at_once(
    tools: &Tools,
    server: &Server,
    scenarios: Vec<(String, PathBuf)>,
) -> Result<Vec<String>> {
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let clock = Clock::system();
    let mut playing = JoinSet::new();
    for (name, path) in scenarios {
        let (home, kubeconfig) = prepare(tools, server, &name)?;
        let mut tools = tools.clone();
        tools.files.push(("bin", root().join("tests/clients/scenarios/bin")));
        let clock = clock.clone();
        playing.spawn(async move {
            let from = clock.monotonic();
            let outcome = play_against(&kubeconfig, home.path(), &path, &tools, update).await;
            eprintln!("scenario {name}: {:.1?}", clock.monotonic() - from);
            outcome.err().map(|error| format!("{name}: {error:#}"))
        });
    }
    Ok(playing.join_all().await.into_iter().flatten().collect())
}

/// Returns the directory of a scenario, and its kubeconfig, in which its namespace is the default.
fn prepare(tools: &Tools, server: &Server, name: &str) -> Result<(TempDir, PathBuf)> {
    let home = tempfile::tempdir()?;
    let kubeconfig = home.path().join("kubeconfig");
    std::fs::copy(server.kubeconfig(), &kubeconfig)?;
    let namespace = name.replace('_', "-");
    let kubectl = |arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(tools.clients.join("kubectl"));
        let output =
            command.args(arguments).env("KUBECONFIG", &kubeconfig).env("HOME", home.path()).output()?;
        ensure!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    };
    kubectl(&["create", "namespace", &namespace])?;
    kubectl(&["config", "set-context", "--current", &format!("--namespace={namespace}")])?;
    Ok((home, kubeconfig))
}
