//! A management plane in one thread under a paused clock, in which time jumps to the next event. `firstlight plan` and the simulation tests
//! are made of it.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use machinery::clock::Clock;
use machinery::random::Random;
use net::Network;
use pki::TokenKeys;
use server::plane::{Dependencies, Plane};
use store::{Memory, Store};
use tokio::runtime::Runtime;

/// Returns a runtime with one thread, whose time stands still while there is work and then jumps to the next timer.
///
/// # Errors
/// The operating system refuses what a runtime needs.
pub fn paused_runtime() -> Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.context("cannot start a runtime")
}

/// Starts an API server over the objects on `disk`. All its random numbers come from `seed`.
///
/// # Errors
/// What is on the disk cannot be served.
pub async fn start(
    disk: Memory,
    clock: &Clock,
    seed: u64,
    network: Arc<dyn Network>,
) -> Result<(Store, Plane)> {
    let dependencies = Dependencies { clock: clock.clone(), random: Random::seeded(seed), network };
    let store = Store::open(disk, clock.clone()).await?;
    let plane =
        Plane::start(store.clone(), &dependencies, None, TokenKeys::generate(&dependencies.random)?).await?;
    Ok((store, plane))
}
