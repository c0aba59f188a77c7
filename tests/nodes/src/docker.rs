//! The nodes are containers of Docker or Podman: the daemon runs in the namespaces of the scenario, with the usual socket. By name, because it
//! needs Debian's docker.io (or podman), iptables and python3.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::FutureExt as _;
use tokio::process::Command;

use crate::images::Images;
use crate::run::run as execute;
use crate::stage::{self, CHANGE, Scene, Stage};
use crate::{machines, manifest, workload};

use engine::{Engine, Kind};

/// The daemon is that of the suite of the crate `node-docker`.
#[path = "../../../bootstrap/nodes/docker/tests/suite/engine.rs"]
#[allow(dead_code, reason = "the other suite uses more of it")]
pub mod engine;

/// The longest time for a command of the machine.
const COMMAND: Duration = Duration::from_secs(10);

/// Plays the life of a cluster.
///
/// # Errors
/// The daemon is not installed, a step fails, or the machine is not as it was when the daemon had started.
pub async fn run(kind: Kind, images: &Images, folder: &Path) -> Result<()> {
    let (name, scene): (_, Scene) = match kind {
        Kind::Docker => ("docker", |stage| play("docker", stage).boxed_local()),
        Kind::Podman => ("podman", |stage| play("podman", stage).boxed_local()),
    };
    let engine = start(kind, folder).await?;
    if kind == Kind::Podman {
        warm_up(&engine.host(), &images.web()).await?;
    }
    let played = stage::play(name, scene, images, folder).await;
    end(&engine, played)
}

/// Starts the daemon, with the usual socket.
///
/// # Errors
/// It is not installed, or does not answer.
pub async fn start(kind: Kind, folder: &Path) -> Result<Engine> {
    let socket = Path::new(match kind {
        Kind::Docker => "/run/docker.sock",
        Kind::Podman => "/run/podman/podman.sock",
    });
    // What the daemon has there is not the machine's: sockets, and Podman's networks.
    for place in ["/run", "/etc/containers/networks"] {
        fs::create_dir_all(place)?;
        execute(Command::new("mount").args(["-t", "tmpfs", "tmpfs", place]), b"", COMMAND).await?;
    }
    fs::create_dir_all(socket.parent().context("a folder")?)?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    let mut engine = Engine::new(kind, folder)?;
    symlink(engine.socket(), socket)?;
    engine.start()?;
    engine.answers().await?;
    Ok(engine)
}

/// Removes the containers that are left.
///
/// # Errors
/// That of the scenario, or there were some.
pub fn end(engine: &Engine, played: Result<()>) -> Result<()> {
    let left = engine.client(&["ps", "--all", "--quiet"])?;
    // The control groups of containers would outlive the namespaces.
    engine.clear()?;
    played?;
    ensure!(left.is_empty(), "containers are left: {left}");
    Ok(())
}

/// Lets Podman's service run a first container on a network, whereafter the machine has what it never removes: its chains of rules, and a mount.
async fn warm_up(host: &str, archive: &Path) -> Result<()> {
    let archive = archive.to_str().context("a path in UTF-8")?;
    let commands: [&[&str]; 6] = [
        &["load", "--input", archive],
        &["network", "create", "first"],
        &["run", "--detach", "--network", "first", "--name", "first", node_programs::WEB],
        &["rm", "--force", "first"],
        &["network", "rm", "first"],
        &["rmi", node_programs::WEB],
    ];
    for words in commands {
        execute(Command::new("podman").args(["--remote", "--url", host]).args(words), b"", COMMAND).await?;
    }
    Ok(())
}

async fn play(runtime: &'static str, stage: &mut Stage<'_>) -> Result<()> {
    let version = stage.images.older();
    stage.server.run_nodes_with(runtime);
    stage.up(&manifest::cluster(version)?, &[]).await?;
    let (management, cluster) = stage.come_up(2).await?;
    let chosen = fs::read_to_string(stage.folder.join("data/nodes/runtime"))?;
    ensure!(chosen == runtime, "the nodes are run by {chosen}");
    let nodes = machines::names(&management).await?;
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let in_node = async |node: &str, command: &[&str]| stage.server.in_node(node, command).await;
    workload::answers(&cluster, &names, in_node).await?;
    stage.steps.done("a Deployment answers through its Service, and by name")?;
    management.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(&management, &cluster, 3, version, CHANGE).await?;
    stage.steps.done("a second worker")?;
    stage.server.kill().await?;
    stage.server.start(&["serve"]).await?;
    let management = stage.server.kubectl();
    machines::wait(&management, &cluster, 3, version, CHANGE).await?;
    stage.steps.done("the server was killed and started again, and knows its nodes")?;
    management.run("scale machinedeployment/local-workers --replicas 1").await?;
    machines::wait(&management, &cluster, 2, version, CHANGE).await?;
    stage.steps.done("a worker was removed")?;
    stage.end().await
}
