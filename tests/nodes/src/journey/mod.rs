//! The journey of a user: `firstlight up -f examples/local-cluster.yaml`, and what follows until the cluster is deleted again.

mod machines;
mod manifest;
mod restart;

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::machine::Machine;
use crate::run::until;
use crate::server::Server;
use crate::steps::Steps;
use crate::workload;

/// The name of the cluster in the example.
const CLUSTER: &str = "local";
/// The longest time until the cluster is there, until it has another size, another version, a new machine, and until it is gone.
const UP: Duration = Duration::from_secs(180);
const CHANGE: Duration = Duration::from_secs(300);
/// What an error shows of the management cluster, and of the cluster.
const MANAGEMENT: [&str; 3] = [
    "get clusters,kubeadmcontrolplanes,machinedeployments,machines,devclusters,devmachines -o wide",
    "describe devclusters,devmachines",
    "get machines -o yaml",
];
const NODES: [&str; 2] = ["get nodes,pods -A -o wide", "get events -A --sort-by=.lastTimestamp"];

/// Plays the journey.
///
/// # Errors
/// A step fails; the error has the state of everything. Or the machine is not as before.
pub async fn run(images: &Images, folder: &Path) -> Result<()> {
    let before = Machine::look(images, folder).await?;
    let mut server = Server::new(images, folder)?;
    if let Err(error) = play(images, folder, &mut server).await {
        return Err(anyhow!("{error:#}\n{}", explained(&server).await));
    }
    before.is(&Machine::look(images, folder).await?)
}

async fn play(images: &Images, folder: &Path, server: &mut Server) -> Result<()> {
    let (old, new) = (images.older(), images.newer());
    let file = folder.join("cluster.yaml");
    std::fs::write(&file, manifest::cluster(old)?)?;
    let file = file.to_str().context("a path that is text")?;
    let steps = Steps::new("journey");
    server.start(&["up", "-f", file]).await?;
    steps.done("the server answers")?;
    let (management, cluster) = come_up(server, &steps).await?;
    answers(server, &cluster, &machines::names(&management).await?).await?;
    steps.done("a Deployment answers through its Service, and by name")?;
    management.run("scale kubeadmcontrolplane/local-control-plane --replicas 3").await?;
    management.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(&management, &cluster, 5, old, CHANGE).await?;
    steps.done("3 + 2 machines")?;
    management.apply(&manifest::upgrade(new)?).await?;
    machines::wait(&management, &cluster, 5, new, CHANGE).await?;
    steps.done(&format!("all machines have {new} instead of {old}"))?;
    answers(server, &cluster, &machines::names(&management).await?).await?;
    steps.done("the Deployment still answers")?;
    let killed = machines::kill_worker(&management).await?;
    machines::is_gone(&management, &killed, CHANGE).await?;
    machines::wait(&management, &cluster, 5, new, CHANGE).await?;
    steps.done("a killed node was replaced")?;
    restart::run(server, &cluster).await?;
    let management = server.kubectl();
    machines::wait(&management, &cluster, 5, new, CHANGE).await?;
    steps.done("the server was killed and started again, and nothing else")?;
    management.wait(&format!("delete cluster {CLUSTER}"), CHANGE).await?;
    steps.done("the cluster is deleted")?;
    server.stop().await
}

/// Waits for the cluster, and prints how long it took from nothing.
async fn come_up(server: &Server, steps: &Steps) -> Result<(Kubectl, Kubectl)> {
    let management = server.kubectl();
    let available =
        format!("get cluster {CLUSTER} -o jsonpath={{.status.conditions[?(@.type==\"Available\")].status}}");
    let cluster = until("the kubeconfig of the cluster", UP, async || server.cluster(CLUSTER).await).await?;
    steps.done("the cluster has a kubeconfig")?;
    until("two Nodes", UP, async || machines::has_nodes(&cluster, 2).await).await?;
    cluster.wait("wait node --all --for=condition=Ready", UP).await?;
    steps.done("1 + 1 Nodes Ready")?;
    cluster.wait("--namespace kube-system rollout status deployment/coredns", UP).await?;
    steps.done("CoreDNS 2/2")?;
    until("the Cluster is Available", UP, async || {
        let status = management.run(&available).await?;
        anyhow::ensure!(status == "True", "Available is {status:?}");
        Ok(())
    })
    .await?;
    let seconds = steps.seconds();
    writeln!(
        std::io::stdout(),
        "figure: nodes: from nothing to 1 + 1 Available and CoreDNS 2/2: {seconds:.1} s"
    )?;
    Ok((management, cluster))
}

async fn answers(server: &Server, cluster: &Kubectl, nodes: &[String]) -> Result<()> {
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    workload::answers(cluster, &nodes, async |node: &str, command: &[&str]| {
        server.in_node(node, command).await
    })
    .await
}

/// Returns the state of everything, for an error.
async fn explained(server: &Server) -> String {
    let mut text = String::new();
    let management = server.kubectl();
    for words in MANAGEMENT {
        text += &management.explain(words).await;
    }
    if let Ok(cluster) = server.cluster(CLUSTER).await {
        for words in NODES {
            text += &cluster.explain(words).await;
        }
    }
    for node in machines::names(&management).await.unwrap_or_default() {
        let said = server.run(&["nodes", "logs", &node]).await.unwrap_or_else(|error| format!("{error:#}"));
        text += &format!("--- console of {node}\n{}\n", last_lines(&said, 40));
        let line = "systemctl --failed; crictl ps -a; journalctl --no-pager -n 60 -u kubelet -u pod-network";
        let state = server.in_node(&node, &["sh", "-c", line]).await;
        text += &state.unwrap_or_else(|error| format!("{error:#}"));
    }
    format!("{text}\n--- the server\n{}", last_lines(&server.log(), 100))
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
