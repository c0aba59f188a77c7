//! `firstlight nodes list` and `firstlight nodes check`.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use container_machines::names::{LABEL_CLUSTER, LABEL_NAME, LABEL_NAMESPACE, LABEL_ROLE};
use machinery::clock::{Clock, rfc3339};
use machinery::random::Random;
use serde::Serialize;
use server::data_directory::DataDirectory;
use server::nodes::{Choice, FOLDER, Opened, Settings};
use system_containers::{Container, State, Weight};

use super::ListOptions;
use super::open::{open, opened, settings};
use crate::output::{print, say, table};

/// The columns of the table.
const HEAD: [&str; 5] = ["NAME", "CLUSTER", "ROLE", "ADDRESS", "STATE"];

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

/// Lists the nodes.
pub(super) async fn run(options: &ListOptions) -> Result<()> {
    let all = open(&options.directory).await?.list(&BTreeMap::new()).await?;
    let nodes: Vec<Node> = all.iter().map(node).collect();
    match options.output.output {
        Some(output) => print(&nodes, output),
        None if nodes.is_empty() => say(
            "No nodes. A Cluster whose DevCluster and DevMachines have backend.docker has its nodes here.\n",
        ),
        None => say(&table(HEAD, nodes.iter().map(row))),
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
        created: rfc3339(container.created),
    }
}

fn row(node: &Node) -> [String; 5] {
    let state = match &node.reason {
        Some(reason) => format!("{}: {reason}", node.state),
        None => node.state.to_owned(),
    };
    [node.name.clone(), node.cluster.clone(), node.role.clone(), node.address.clone(), state]
}

/// Opens what a server of this data directory would run nodes with. If nothing can, this is root's own one, whose findings are the most.
async fn examined(settings: &Settings) -> Result<Opened> {
    if Choice::remembered(&settings.folder)?.is_some() {
        return opened(settings).await;
    }
    match settings.choose(&Clock::system(), &Random::system()).await {
        Err(_) if rustix::process::geteuid().is_root() => opened(settings).await,
        chosen => chosen,
    }
}

/// Says what hinders nodes on this machine.
pub(super) async fn check(options: &ListOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    // Of a folder without nodes, nothing is made by looking at it.
    let findings = if directory.path().join(FOLDER).is_dir() {
        let settings = settings(&options.directory, &[], None)?;
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
