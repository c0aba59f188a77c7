//! `nodes-tests [--all | NAME...]`: real kubelets in system containers of this machine. Each scenario runs in namespaces of its own for network, mounts
//! and processes, so that nothing of it reaches the machine's network, and nothing outlives it. Run by `cargo xtask nodes`. Needs root, and the
//! packages that `tests/nodes/install-tools` installs.

mod by_hand;
mod capd;
mod class;
mod days;
mod docker;
mod figures;
mod images;
mod journey;
mod kubectl;
mod machine;
mod machines;
mod manifest;
mod pivot;
mod run;
mod server;
mod stage;
mod steps;
mod tutorial;
mod usage;
mod workload;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::docker::engine::Kind;
use crate::images::Images;
use crate::stage::Scene;

/// A scenario.
struct Scenario {
    name: &'static str,
    when: When,
    /// Makes what only this scenario needs, outside of its namespaces, which have no way to the network.
    prepare: fn(&Images) -> Result<()>,
    play: Play,
}

/// When a scenario is played, besides when it is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// By default, and with `--all`.
    Usually,
    /// With `--all`.
    Further,
    /// Only then, because it needs more programs or measures.
    Named,
}

/// How a scenario is played.
enum Play {
    /// With a server.
    Staged(Scene),
    /// In a folder of its own.
    Alone(InFolder),
}

type InFolder = for<'a> fn(&'a Images, &'a Path) -> LocalBoxFuture<'a, Result<()>>;

/// Returns a scenario with a server, which runs by default.
const fn usual(name: &'static str, scene: Scene) -> Scenario {
    Scenario { name, when: When::Usually, prepare: nothing, play: Play::Staged(scene) }
}

/// Returns a scenario with a server, which runs when it is named, or with `--all`.
const fn further(name: &'static str, scene: Scene) -> Scenario {
    Scenario { name, when: When::Further, prepare: nothing, play: Play::Staged(scene) }
}

/// Returns a scenario with a server, which runs when it is named.
const fn named(name: &'static str, scene: Scene) -> Scenario {
    Scenario { name, when: When::Named, prepare: nothing, play: Play::Staged(scene) }
}

/// The same without a server of its own.
const fn alone(name: &'static str, when: When, run: InFolder) -> Scenario {
    Scenario { name, when, prepare: nothing, play: Play::Alone(run) }
}

fn nothing(_: &Images) -> Result<()> {
    Ok(())
}

/// All scenarios.
const SCENARIOS: [Scenario; 17] = [
    usual("journey", |stage| journey::play(stage).boxed_local()),
    usual("pivot", |stage| pivot::play(stage).boxed_local()),
    alone("by-hand", When::Further, |images, folder| by_hand::run(images, folder).boxed_local()),
    alone("three-kubeadm", When::Named, |images, folder| by_hand::run_three(images, folder).boxed_local()),
    named("figures", |stage| figures::one(stage).boxed_local()),
    named("three", |stage| figures::three(stage).boxed_local()),
    alone("tutorial", When::Further, |images, folder| tutorial::run(images, folder).boxed_local()),
    further("class", |stage| class::play(stage).boxed_local()),
    further("behind", |stage| days::behind(stage).boxed_local()),
    further("cut", |stage| days::cut(stage).boxed_local()),
    further("kills", |stage| days::kills(stage).boxed_local()),
    further("refused", |stage| days::refused(stage).boxed_local()),
    further("unprivileged", |stage| days::unprivileged(stage).boxed_local()),
    further("two", |stage| days::two(stage).boxed_local()),
    alone("docker", When::Named, |images, folder| docker::run(Kind::Docker, images, folder).boxed_local()),
    alone("podman", When::Named, |images, folder| docker::run(Kind::Podman, images, folder).boxed_local()),
    Scenario {
        prepare: capd::prepare,
        ..alone("capd", When::Named, |images, folder| capd::run(images, folder).boxed_local())
    },
];

/// Runs the scenarios too that do not run by default.
const ALL: &str = "--all";
/// Makes the images, prints where they are, and runs no scenario.
const IMAGES: &str = "images";
/// Tells the process that it already runs in the namespaces. The name of a scenario follows.
const HERE: &str = "--here";
/// The first process of the namespaces. It also reaps processes without a parent.
const FIRST: &str = "ip link set lo up && \"$0\" \"$@\" & wait $!";

fn main() -> Result<()> {
    node_runtime::supervisor::run_if_started_as_one();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == HERE
    {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).context("no such scenario")?;
        return tokio::runtime::Runtime::new()?.block_on(here(scenario));
    }
    let images = images::prepare()?;
    if arguments.iter().any(|argument| argument == IMAGES) {
        return images.print();
    }
    let is_chosen = |scenario: &&Scenario| match arguments.as_slice() {
        [] => scenario.when == When::Usually,
        [all] if all == ALL => scenario.when != When::Named,
        names => names.iter().any(|part| scenario.name.contains(part.as_str())),
    };
    let mut failed = Vec::new();
    for scenario in SCENARIOS.iter().filter(is_chosen) {
        (scenario.prepare)(&images)?;
        if !in_namespaces(scenario.name)? {
            failed.push(scenario.name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs a scenario in its namespaces.
fn in_namespaces(name: &str) -> Result<bool> {
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", FIRST])
        .arg(std::env::current_exe()?)
        .args([HERE, name])
        .status()
        .context("unshare (of util-linux) is needed")?;
    Ok(status.success())
}

async fn here(scenario: &Scenario) -> Result<()> {
    let images = Images::find();
    // Nodes do not fit into a temporary folder in memory, nor on another overlay.
    let folder = tempfile::Builder::new().prefix(scenario.name).tempdir_in(images.folder())?;
    let steps = steps::Steps::new(scenario.name);
    let outcome = match scenario.play {
        Play::Staged(scene) => stage::play(scenario.name, scene, &images, folder.path()).await,
        Play::Alone(run) => run(&images, folder.path()).await,
    };
    steps.done(if outcome.is_ok() { "passed" } else { "FAILED" })?;
    machine::remove_groups(folder.path()).await;
    outcome
}
