//! `firstlight list`: the servers of this user.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use futures::future::join_all;
use kube::Api;
use kube::api::ListParams;
use schemas::cluster::Cluster;
use serde::Serialize;
use server::connection;
use server::data_directory::{DataDirectory, Running};
use server::servers;

use crate::output::OutputOptions;
use crate::output::{print, say, table};

/// A server that does not answer within this time is listed without its clusters.
const PATIENCE: Duration = Duration::from_secs(3);
/// As many clusters are named in the table.
const NAMED_CLUSTERS: usize = 3;

/// The columns of the table.
const HEAD: [&str; 5] = ["NAME", "STATE", "ADDRESS", "CLUSTERS", "DATA DIRECTORY"];

/// Options of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListOptions {
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// A server in the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    /// The name, of which the context in a kubeconfig is made.
    name: String,
    /// `running` or `stopped`; `killed` if it did not end by itself, and `unreadable` if it is another user's.
    state: &'static str,
    /// The URL of a running server.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// The clusters of a running server as namespace/name; `None` if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    clusters: Option<Vec<String>>,
    data_directory: PathBuf,
}

/// Lists the servers that this user has started, with those that have ended but still have a data directory.
///
/// # Errors
/// The list of data directories cannot be read.
pub async fn run(options: &ListOptions) -> Result<()> {
    let servers = join_all(servers::all()?.into_iter().map(look)).await;
    match options.output.output {
        Some(output) => print(&servers, output),
        None if servers.is_empty() => say("No servers. `firstlight up` or `firstlight serve` starts one.\n"),
        None => say(&table(HEAD, servers.iter().map(row))),
    }
}

async fn look(directory: DataDirectory) -> Server {
    let mut server = Server {
        name: directory.name(),
        state: "stopped",
        address: None,
        clusters: None,
        data_directory: directory.path().to_owned(),
    };
    match directory.running() {
        Err(_) => server.state = "unreadable",
        Ok(None) => {}
        Ok(Some(_)) if !directory.is_locked().unwrap_or_default() => server.state = "killed",
        Ok(Some(running)) => {
            server.state = "running";
            server.clusters = tokio::time::timeout(PATIENCE, clusters(&running)).await.ok().flatten();
            server.name = running.name.unwrap_or(server.name);
            server.address = Some(running.server);
        }
    }
    server
}

async fn clusters(running: &Running) -> Option<Vec<String>> {
    let client = connection::client(&running.kubeconfig).await.ok()?;
    let clusters = Api::<Cluster>::all(client).list_metadata(&ListParams::default()).await.ok()?;
    let name = |metadata: kube::core::ObjectMeta| {
        format!("{}/{}", metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default())
    };
    Some(clusters.items.into_iter().map(|cluster| name(cluster.metadata)).collect())
}

fn row(server: &Server) -> [String; 5] {
    [
        server.name.clone(),
        server.state.to_owned(),
        server.address.clone().unwrap_or_else(|| "-".to_owned()),
        server.clusters.as_deref().map_or_else(|| "-".to_owned(), named),
        server.data_directory.display().to_string(),
    ]
}

/// Returns the first clusters, and how many more there are.
fn named(clusters: &[String]) -> String {
    let names = clusters.iter().take(NAMED_CLUSTERS).map(String::as_str).collect::<Vec<_>>().join(",");
    match clusters.len() {
        0 => "none".to_owned(),
        count if count > NAMED_CLUSTERS => format!("{names} and {} more", count - NAMED_CLUSTERS),
        _ => names,
    }
}
