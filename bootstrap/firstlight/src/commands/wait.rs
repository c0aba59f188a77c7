//! `firstlight wait`: waits for the clusters of a running server.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use kube::Client;
use server::connection;
use server::data_directory::DataDirectory;
use server::options::{DirectoryOptions, parse_duration};

use super::goal::{Goal, missing, notes};
use crate::output::say;
use crate::tree::model::Objects;
use crate::tree::view::View;

/// Options of `wait`.
#[derive(Debug, Clone, Args)]
pub struct WaitOptions {
    /// State of the clusters to wait for
    #[arg(long = "for", value_name = "GOAL", value_enum, default_value = "complete")]
    pub goal: Goal,
    /// Give up after this time, for example 90s or 10m [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Waits until all clusters of the data directory's server have reached the goal.
///
/// # Errors
/// No server runs, it ends, or the timeout has passed; the message lists the objects that are not ready.
pub async fn run(options: &WaitOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let running = directory.running_server()?;
    let client = connection::client(&running.kubeconfig).await?;
    let manager = connection::manager(client.clone());
    let view = View::of_server(&manager, &client);
    let reached = reach(options.goal, &view, &client);
    let limited = async {
        match options.timeout {
            None => reached.await.map(Some),
            Some(limit) => tokio::time::timeout(limit, reached).await.ok().transpose(),
        }
    };
    let reached = tokio::select! {
        biased;
        reached = limited => reached?,
        error = directory.server_ended(&running) => return Err(error),
    };
    let objects = match reached {
        Some(objects) => objects,
        None => {
            let seconds = options.timeout.unwrap_or_default().as_secs();
            bail!("not {} after {seconds}s:\n{}", options.goal.name(), missing(&view.objects()));
        }
    };
    manager.stop().await;
    let count = objects.clusters.len();
    say(&format!("{count} of {count} clusters {}.\n{}", options.goal.name(), notes(&objects)))
}

/// Waits for the goal, and returns the objects that have reached it.
///
/// # Errors
/// The server does not serve a kind of the clusters.
async fn reach(goal: Goal, view: &View, client: &Client) -> Result<Objects> {
    view.ready().await?;
    loop {
        while !goal.is_reached(&view.objects()) {
            view.changed().await;
        }
        // The controllers have confirmed everything. What they wrote meanwhile may not have come to this view yet, but a new one begins with
        // all of it.
        let manager = connection::manager(client.clone());
        let latest = View::new(&manager);
        latest.ready().await?;
        let objects = latest.objects();
        manager.stop().await;
        if goal.is_reached(&objects) {
            return Ok(objects);
        }
        view.changed().await;
    }
}
