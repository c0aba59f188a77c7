//! The server is killed and started again, while its nodes run.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use machinery::clock::Clock;

use crate::kubectl::Kubectl;
use crate::machines::inits;
use crate::server::Server;

/// How long the server is away.
const AWAY: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// Kills the server, and starts another one on its data. All the time, the cluster answers at its endpoint.
///
/// # Errors
/// The endpoint does not answer, or a node was restarted.
pub async fn run(server: &mut Server, cluster: &Kubectl) -> Result<()> {
    let before = inits();
    ensure!(!before.is_empty(), "there are nodes");
    let clock = Clock::system();
    let restarted = async {
        server.kill().await?;
        clock.sleep(AWAY).await;
        server.start(&["serve"]).await
    };
    let answers = async {
        loop {
            let answer = cluster.run("get --raw /livez --request-timeout=1s").await;
            if let Err(error) = answer {
                return error;
            }
            clock.sleep(LOOK).await;
        }
    };
    tokio::select! {
        done = restarted => done?,
        error = answers => return Err(error).context("the endpoint does not answer while the server is away"),
    }
    ensure!(inits() == before, "a node was restarted: {before:?} before, {:?} after", inits());
    Ok(())
}
