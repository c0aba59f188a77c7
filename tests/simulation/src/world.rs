//! The state that outlives a process: the disk, the time and the number of requests.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use engine::network::SimulatedNetwork;
use firstlight::controllers::{self, Context, Selection};
use firstlight::names::CONTROLLER_USER;
use firstlight::plane::{Doors, Plane};
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use store::{Memory, Store};

use test_plane::requests::{Counting, Requests};

/// The disk, the time, the number of requests, and the seed of all random numbers.
pub struct World {
    /// Seed of all random numbers.
    pub seed: u64,
    /// The writes of the controllers over all lives.
    pub requests: Requests,
    disk: Memory,
    now: DateTime<Utc>,
    lives: u64,
    controllers: Selection,
}

/// One life of the process, which ends when it is killed or the runtime is dropped.
pub struct Life {
    /// The server and its registry.
    pub plane: Plane,
    /// The store of all objects.
    pub store: Store,
    /// The manager of the controllers.
    pub manager: engine::Manager,
    /// The simulated clock.
    pub clock: Clock,
}

/// Duration of a restart of the process.
const RESTART: Duration = Duration::from_secs(1);

impl World {
    /// An empty disk at a fixed start time.
    pub fn new(seed: u64) -> Self {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
        let controllers = Selection::all().without("metal");
        Self { seed, requests: Requests::default(), disk: Memory::default(), now, lives: 0, controllers }
    }

    /// Like [`World::new`], but without controllers, except for those that the test starts.
    pub fn bare(seed: u64) -> Self {
        Self { controllers: Selection::NONE, ..Self::new(seed) }
    }

    /// How many times the process was started.
    pub fn lives(&self) -> u64 {
        self.lives
    }

    /// The current simulated time.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Runs one life in a new runtime. The runtime with all its tasks is dropped when `live` returns.
    ///
    /// # Errors
    /// The server does not start, or an error of `live`.
    pub fn live<T>(&mut self, live: impl AsyncFnOnce(&Life, &Requests) -> Result<T>) -> Result<T> {
        self.lives += 1;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.context("cannot start a runtime")?;
        let (outcome, now) = runtime.block_on(async {
            let clock = Clock::simulated(self.now);
            let outcome = async {
                let life = self.start(&clock).await?;
                live(&life, &self.requests).await
            };
            let outcome = outcome.await;
            (outcome, clock.now())
        });
        self.now = now + RESTART;
        outcome
    }

    async fn start(&self, clock: &Clock) -> Result<Life> {
        let doors = Doors {
            clock: clock.clone(),
            random: Random::seeded(self.seed.wrapping_mul(1_000_003).wrapping_add(self.lives)),
            network: Arc::new(SimulatedNetwork::new()),
        };
        let store = Store::open(self.disk.clone(), clock.clone()).await?;
        let plane =
            Plane::start(store.clone(), &doors, None, pki::TokenKeys::generate(&doors.random)?).await?;
        let user = access::User::master(CONTROLLER_USER);
        let service = Counting::new(plane.server.client_service(user), &self.requests);
        let manager = plane.manager_with(Client::new(service, "default"));
        controllers::start(&Context::new(&manager), &self.controllers);
        Ok(Life { plane, store, manager, clock: clock.clone() })
    }
}
