//! The API server of another process: a client of it, and what controllers and views need to work on it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clusterctl::connection::Choice;
use engine::{Manager, Settings};
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use net::RealNetwork;

/// Returns a client from a kubeconfig file.
///
/// # Errors
/// The file cannot be read or is not a kubeconfig.
pub async fn client(path: &Path) -> Result<Client> {
    let choice = Choice { kubeconfig: Some(path.to_owned()), context: None };
    Ok(choice.connect().await?.client)
}

/// Returns a manager for views of another process's API server, with default settings.
pub fn manager(client: Client) -> Manager {
    manager_with(client, Settings::default())
}

/// Returns a manager for controllers that use another process's API server.
pub fn manager_with(client: Client, settings: Settings) -> Manager {
    Manager::new(engine::ManagerOptions {
        client,
        clock: Clock::system(),
        random: Random::system(),
        network: Arc::new(RealNetwork),
        metrics: metrics::Metrics::default(),
        settings,
    })
}
