//! `firstlight controllers`: only the controllers, against any cluster.

use std::sync::Arc;

use anyhow::{Context, Result};
use clusterctl::connection::Choice;
use engine::Manager;
use engine::network::RealNetwork;
use kube::{Client, Config};
use machinery::clock::Clock;
use machinery::random::Random;

use super::Signals;
use crate::backup::JOURNAL;
use crate::cli::{ControllerSelection, ControllersOptions};
use crate::handed_over;
use crate::plane::start_controllers;

/// Runs the controllers until the process is interrupted.
///
/// # Errors
/// The kubeconfig cannot be used, or there is none and the process does not run in a pod.
pub async fn run(options: &ControllersOptions) -> Result<()> {
    let client = match &options.kubeconfig {
        Some(path) => {
            if let Some(directory) =
                path.parent().filter(|_| options.controllers != ControllerSelection::NONE)
            {
                handed_over::refuse(&directory.join(JOURNAL))?;
            }
            client(path).await?
        }
        None => in_cluster()?,
    };
    let version = client.apiserver_version().await.context("the cluster does not answer")?;
    let manager = manager(client);
    let mut signals = Signals::catch()?;
    start_controllers(&manager, options.controllers, &[]);
    tracing::info!(version = version.git_version, "controllers are running");
    signals.next().await;
    manager.stop().await;
    Ok(())
}

/// Returns a client of the cluster in which this process is a pod, with the pod's service account.
fn in_cluster() -> Result<Client> {
    let config = Config::incluster().context(
        "no kubeconfig is named with --kubeconfig or KUBECONFIG, and this process is no pod with a service account",
    )?;
    Ok(Client::try_from(config)?)
}

/// Returns a client from a kubeconfig file.
///
/// # Errors
/// The file cannot be read or is not a kubeconfig.
pub async fn client(path: &std::path::Path) -> Result<Client> {
    let choice = Choice { kubeconfig: Some(path.to_owned()), context: None };
    Ok(choice.connect().await?.client)
}

/// Returns a manager for controllers and views that use another process's API server.
pub fn manager(client: Client) -> Manager {
    Manager::new(engine::Options {
        client,
        clock: Clock::system(),
        random: Random::system(),
        network: Arc::new(RealNetwork),
    })
}
