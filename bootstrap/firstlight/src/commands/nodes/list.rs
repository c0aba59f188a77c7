//! `firstlight nodes list` and `firstlight nodes check`.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use container_machines::names::{LABEL_CLUSTER, LABEL_NAME, LABEL_NAMESPACE, LABEL_ROLE};
use machinery::clock::Clock;
use machinery::random::Random;
use serde::Serialize;
use system_containers::{Container, State, Weight};

use super::ListOptions;
use crate::data_directory::DataDirectory;
use crate::nodes::{Choice, Opened, Settings};
use crate::output::{print, say};

/// A node in the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    /// Its name.
    name: String,
    /// The name of its Cluster.
    cluster: String,
    /// Its role.
    role: String,
    /// Its object, as namespace/name.
    machine: String,
    /// Its address.
    address: String,
    /// What it does, in one word.
    state: &'static str,
    /// Why its last start failed, or how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When it was created, RFC 3339.
    created: String,
}

/// Returns the name of the Cluster of a container.
pub(super) fn cluster(container: &Container) -> &str {
    container.labels.get(LABEL_CLUSTER).map(String::as_str).unwrap_or_default()
}

/// Lists the nodes.
pub(super) async fn run(options: &ListOptions) -> Result<()> {
    let all = super::open(&options.directory).await?.list(&BTreeMap::new()).await?;
    let nodes: Vec<Node> = all.iter().map(node).collect();
    match options.output.output {
        Some(output) => print(&nodes, output),
        None if nodes.is_empty() => say(
            "No nodes. A Cluster whose DevCluster and DevMachines have backend.docker has its nodes here.\n",
        ),
        None => say(&table(&nodes)),
    }
}

fn node(container: &Container) -> Node {
    let label = |key: &str| container.labels.get(key).cloned().unwrap_or_default();
    let reason = match &container.state {
        State::Stopped { error: Some(error), .. } => Some(error.clone()),
        State::Stopped { code: Some(code), .. } => Some(format!("its init ended with status {code}")),
        _ => None,
    };
    Node {
        name: container.name.clone(),
        cluster: label(LABEL_CLUSTER),
        role: label(LABEL_ROLE),
        machine: format!("{}/{}", label(LABEL_NAMESPACE), label(LABEL_NAME)),
        address: container.address.to_string(),
        state: container.state.word(),
        reason,
        created: container.created.to_rfc3339(),
    }
}

fn table(nodes: &[Node]) -> String {
    let head = ["NAME", "CLUSTER", "ROLE", "ADDRESS", "STATE"].map(str::to_owned);
    let row = |node: &Node| {
        let state = match &node.reason {
            Some(reason) => format!("{}: {reason}", node.state),
            None => node.state.to_owned(),
        };
        [node.name.clone(), node.cluster.clone(), node.role.clone(), node.address.clone(), state]
            .map(|cell| terminal::line(&cell).into_owned())
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(nodes.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&format!("{}\n", row[4]));
    }
    text
}

/// Opens what a server of this data directory would run nodes with. If nothing can, this is root's own one, whose findings are the most.
async fn examined(settings: &Settings) -> Result<Opened> {
    if Choice::remembered(&settings.folder)?.is_some() {
        return super::opened(settings).await;
    }
    match settings.choose(&Clock::system(), &Random::system()).await {
        Err(_) if rustix::process::geteuid().is_root() => super::opened(settings).await,
        chosen => chosen,
    }
}

/// Says what hinders nodes on this machine.
pub(super) async fn check(options: &ListOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let findings = if directory.path().is_dir() {
        let settings = super::settings(&options.directory, &[], None)?;
        examined(&settings).await?.runtime().preflight().await?
    } else {
        node_runtime::preflight::of_machine(directory.path()).await?
    };
    match options.output.output {
        Some(output) => print(&findings, output)?,
        None if findings.is_empty() => say("Nothing hinders nodes on this machine.\n")?,
        None => {
            for finding in &findings {
                let weight = match finding.weight {
                    Weight::Obstacle => "obstacle",
                    Weight::Warning => "warning",
                    Weight::Note => "note",
                };
                say(&format!("{weight}: {}\n  {}\n", finding.what, finding.remedy))?;
            }
        }
    }
    let obstacles = findings.iter().filter(|finding| finding.weight == Weight::Obstacle).count();
    ensure!(obstacles == 0, "no node can run on this machine: {obstacles} obstacles");
    Ok(())
}
