//! `firstlight wait`: waits for the clusters of a running server.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use super::goal::{Goal, missing};
use crate::connection;
use crate::data_directory::DataDirectory;
use crate::options::{DirectoryOptions, parse_duration};
use crate::output::say;
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
    let manager = connection::manager(connection::client(&running.kubeconfig).await?);
    let view = View::new(&manager);
    let reached = async {
        view.ready().await;
        while !options.goal.is_reached(&view.objects()) {
            view.changed().await;
        }
    };
    let limited = async {
        match options.timeout {
            None => {
                reached.await;
                true
            }
            Some(limit) => tokio::time::timeout(limit, reached).await.is_ok(),
        }
    };
    let in_time = tokio::select! {
        in_time = limited => in_time,
        error = directory.server_ended(&running) => return Err(error),
    };
    let objects = view.objects();
    manager.stop().await;
    if !in_time {
        let seconds = options.timeout.unwrap_or_default().as_secs();
        bail!("not {} after {seconds}s:\n{}", options.goal.name(), missing(&objects));
    }
    say(&format!(
        "{} of {} clusters {}.\n",
        objects.clusters.len(),
        objects.clusters.len(),
        options.goal.name()
    ))
}
