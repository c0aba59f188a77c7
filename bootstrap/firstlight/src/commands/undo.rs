//! `undo cluster`: takes the deletion of a Cluster back.

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use clusterctl::cluster_message;
use engine::deletion_grace;
use kube::{Api, Client};
use machinery::clock::rfc3339;
use schemas::cluster::Cluster;
use serde_json::Value;
use server::undo::{UndoPreconditions, UndoRequest};

use crate::output::say;
use crate::target::TargetOptions;

/// Commands under `undo`.
#[derive(Debug, Subcommand)]
pub enum UndoCommand {
    /// Take the deletion of a Cluster back, while its grace period lasts
    ///
    /// The Cluster and all its objects stay as they are, with the same UIDs. It must have had the annotation
    /// firstlight.dev/deletion-grace-period, for example 10m, when it was deleted.
    #[command(
        after_help = "Example:\n  kubectl annotate cluster first firstlight.dev/deletion-grace-period=10m\n  kubectl delete cluster first --wait=false\n  firstlight undo cluster first"
    )]
    Cluster(ClusterOptions),
}

/// Options of `undo cluster`.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// Name of the Cluster
    pub name: String,
    /// Its namespace [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    pub namespace: Option<String>,
    /// The management cluster.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// Runs `undo`.
///
/// # Errors
/// The Cluster is not being deleted, or the API server refuses to take the deletion back.
pub async fn run(command: &UndoCommand) -> Result<()> {
    let UndoCommand::Cluster(options) = command;
    let connection = options.target.connect().await?;
    let namespace = options.namespace.as_deref().unwrap_or(&connection.namespace);
    say(&undo_cluster(&connection.client, namespace, &options.name).await?)
}

/// Takes the deletion of a Cluster back. Returns the message for the user.
///
/// # Errors
/// Those of [`run`].
pub async fn undo_cluster(client: &Client, namespace: &str, name: &str) -> Result<String> {
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), namespace);
    let read = async || clusters.get_opt(name).await.map_err(|error| anyhow!("{}", cluster_message(&error)));
    let gone = || anyhow!("there is no Cluster {namespace}/{name}; -n chooses another namespace");
    let cluster = read().await?.ok_or_else(gone)?;
    if cluster.metadata.deletion_timestamp.is_none() {
        bail!("Cluster {namespace}/{name} is not being deleted: there is nothing to undo");
    }
    // Nobody means another Cluster of the same name.
    let preconditions = UndoPreconditions { uid: cluster.metadata.uid.clone(), resource_version: None };
    let request = UndoRequest { preconditions, ..UndoRequest::default() };
    let path = format!("{}/{name}/undo", clusters.resource_url());
    let put = http::Request::put(path).header(http::header::CONTENT_TYPE, "application/json");
    match client.request::<Value>(put.body(serde_json::to_vec(&request)?)?).await {
        Ok(_) => {
            Ok(format!("the deletion of Cluster {namespace}/{name} was undone; nothing of it was deleted\n"))
        }
        // As long as the Cluster exists, 404 means that the subresource is not served.
        Err(kube::Error::Api(status)) if status.code == 404 => match read().await? {
            None => Err(gone()),
            Some(cluster) => Err(not_served(&cluster, namespace, name)),
        },
        Err(error) => {
            bail!("cannot undo the deletion of {namespace}/{name}: {}", cluster_message(&error))
        }
    }
}

fn not_served(cluster: &Cluster, namespace: &str, name: &str) -> anyhow::Error {
    let until = match deletion_grace::end(cluster) {
        Some(Ok(end)) => format!(
            " firstlight's controllers delete nothing of the Cluster before {}; with spec.paused: true, they and others leave its objects alone as long as it is paused",
            rfc3339(end)
        ),
        _ => String::new(),
    };
    anyhow!(
        "cannot undo the deletion of {namespace}/{name}: this cluster's API server is not firstlight's, and Kubernetes has no request that takes a deletion back.{until}"
    )
}
