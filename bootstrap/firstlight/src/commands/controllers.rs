//! `firstlight controllers`: the controllers alone, against any cluster.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use clusterctl::connection::Choice;
use engine::Manager;
use engine::network::RealNetwork;
use kube::{Client, Config};
use machinery::clock::Clock;
use machinery::random::Random;

use super::Signals;
use crate::backup::JOURNAL;
use crate::cli::ControllersOptions;
use crate::controllers::{self, Context};
use crate::diagnostics::Diagnostics;
use crate::handed_over;

/// Runs until it is interrupted.
///
/// # Errors
/// Where the kubeconfig cannot be used, or there is none and this is no pod.
pub async fn run(options: &ControllersOptions) -> Result<()> {
    let client = match &options.kubeconfig {
        Some(path) => {
            if let Some(directory) = path.parent().filter(|_| !options.controllers.is_none()) {
                handed_over::refuse(&directory.join(JOURNAL))?;
            }
            client(path).await?
        }
        None => in_cluster()?,
    };
    let version = client.apiserver_version().await.context("the cluster does not answer")?;
    let manager = manager(client);
    let mut signals = Signals::catch()?;
    let diagnostics = Diagnostics::start(&options.diagnostics, &manager).await?;
    controllers::start(&Context::new(&manager), &options.controllers);
    let Diagnostics { metrics, health } = diagnostics;
    tracing::info!(version = version.git_version, ?metrics, ?health, "controllers are running");
    signals.next().await;
    manager.stop().await;
    Ok(())
}

/// A client of the cluster that this process is a pod of, by the pod's service account.
fn in_cluster() -> Result<Client> {
    let config = Config::incluster().context(
        "no kubeconfig is named with --kubeconfig or KUBECONFIG, and this process is no pod with a service account",
    )?;
    Ok(Client::try_from(config)?)
}

/// A client from a kubeconfig file.
///
/// # Errors
/// Where the file cannot be read or is no kubeconfig.
pub async fn client(path: &std::path::Path) -> Result<Client> {
    let choice = Choice { kubeconfig: Some(path.to_owned()), context: None };
    Ok(choice.connect().await?.client)
}

/// What controllers and views share when they work on another process's API server.
pub fn manager(client: Client) -> Manager {
    Manager::new(engine::Options {
        client,
        clock: Clock::system(),
        random: Random::system(),
        network: Arc::new(RealNetwork),
        metrics: metrics::Metrics::default(),
    })
}
