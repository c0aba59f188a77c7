//! `metal approve`.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use clusterctl::cluster_message;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use schemas::netboot::Agent;
use serde_json::json;

use crate::output::say;
use crate::target::TargetOptions;

/// Options of `metal approve`.
#[derive(Debug, Args)]
pub struct ApproveOptions {
    /// Names of the machines, or the MAC addresses through which they booted
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The management cluster.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// Runs `metal approve`.
///
/// # Errors
/// A machine does not exist, or the API refuses the approval.
pub async fn run(options: &ApproveOptions) -> Result<()> {
    let connection = options.target.connect().await?;
    for name in &options.names {
        say(&approve(&connection.client, name).await?)?;
    }
    Ok(())
}

/// Approves a machine: an unknown one becomes a host, and one that asks to enrol as a host may enrol. Returns the message for the user.
///
/// # Errors
/// The machine does not exist, or the API refuses the approval.
pub async fn approve(client: &Client, name: &str) -> Result<String> {
    let agents: Api<Agent> = Api::all(client.clone());
    let name = name.to_lowercase().replace(':', "-");
    let found = agents.get_opt(&name).await.map_err(|error| anyhow!("{}", cluster_message(&error)))?;
    let Some(agent) = found else {
        bail!(
            "no machine is called {name}; `firstlight metal hosts` shows those that have called. Is it switched on, and did it boot over the network?"
        );
    };
    if agent.spec.approved == Some(true) {
        return Ok(format!("{name} is approved already\n"));
    }
    let patch = Patch::Merge(json!({ "spec": { "approved": true } }));
    let patched = agents.patch(&name, &PatchParams::default(), &patch).await;
    patched.map_err(|error| anyhow!("cannot approve {name}: {}", cluster_message(&error)))?;
    Ok(match &agent.spec.host_ref {
        // The netboot service removes the approval if no machine waits for it.
        Some(host) => format!(
            "{name} approved: the machine that waits to enrol as host {}/{} may enrol\n",
            host.namespace, host.name
        ),
        None => format!("{name} approved\n"),
    })
}
