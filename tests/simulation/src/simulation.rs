//! The state that outlives a process: the disk, the time and the number of requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Result, anyhow};
use chrono::{DateTime, Utc};
use firstlight::simulation::{self, paused_runtime};
use machinery::clock::Clock;
use runtime_extensions::{Caller, Client};
use server::controllers::{self, Context, Selection};
use server::names::CONTROLLER_USER;
use server::plane::Plane;
use store::{Batch, Engine as _, Memory, Store};
use tokio::runtime::Runtime;

use test_plane::requests::{Counting, Requests};

use crate::network::Cables;

/// The disk, the time, the number of requests, and the seed of all random numbers.
pub struct Simulation {
    /// Seed of all random numbers.
    pub seed: u64,
    /// The writes of the controllers over all lives.
    pub requests: Requests,
    disk: Memory,
    now: DateTime<Utc>,
    lives: u64,
    controllers: Selection,
    extensions: Option<Arc<dyn Caller>>,
    is_in_real_time: bool,
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
    /// The network to the workload clusters.
    pub network: Cables,
    /// The workload clusters; `None` in a simulation without controllers.
    pub workloads: Option<simulated::Backend>,
}

/// Duration of a restart of the process.
const RESTART: Duration = Duration::from_secs(1);

/// A disk with the definitions of all kinds. They are the same in each simulation, and take as long as the life of a small cluster to install.
static INSTALLED: OnceLock<Result<Memory, String>> = OnceLock::new();

/// Starts the server once on an empty disk, and returns the disk.
fn install() -> Result<Memory> {
    let disk = Memory::default();
    paused_runtime()?.block_on(async {
        let clock = Clock::simulated(epoch());
        simulation::start(disk.clone(), &clock, 0, Arc::new(Cables::default())).await
    })?;
    Ok(disk)
}

/// Returns a runtime like that of the program, with two threads.
fn real_runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Returns a disk with the same content.
fn copied(disk: &Memory) -> Result<Memory> {
    let loaded = disk.load()?;
    let copy = Memory::default();
    copy.commit(&Batch { changes: loaded.changes, revision: loaded.revision, ..Batch::default() })?;
    Ok(copy)
}

/// The time at which each simulation begins.
fn epoch() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default()
}

impl Simulation {
    /// An empty disk at a fixed start time.
    pub fn new(seed: u64) -> Self {
        let now = epoch();
        let controllers = Selection::all().without("metal");
        let (requests, disk) = (Requests::default(), Memory::default());
        Self { seed, requests, disk, now, lives: 0, controllers, extensions: None, is_in_real_time: false }
    }

    /// Like [`Simulation::new`], but in real time and on several threads: what happens at the same time is in the hands of the machine's
    /// scheduler.
    pub fn in_real_time(seed: u64) -> Self {
        Self { is_in_real_time: true, ..Self::new(seed) }
    }

    /// Like [`Simulation::new`], but without controllers, except for those that the test starts.
    pub fn bare(seed: u64) -> Self {
        Self { controllers: Selection::NONE, ..Self::new(seed) }
    }

    /// The same simulation, in which `extensions` answers the calls of runtime extensions, whatever their address.
    #[must_use]
    pub fn with_extensions(self, extensions: Arc<dyn Caller>) -> Self {
        Self { extensions: Some(extensions), ..self }
    }

    /// How many times the process was started.
    pub fn lives(&self) -> u64 {
        self.lives
    }

    /// The current simulated time.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The disk at the first start, as after an earlier start.
    fn first_disk() -> Result<Memory> {
        let disk = INSTALLED.get_or_init(|| install().map_err(|error| format!("{error:#}")));
        copied(disk.as_ref().map_err(|error| anyhow!("{error}"))?)
    }

    /// Returns a simulation in the same state at the same time, which goes on by itself.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn copy(&self) -> Result<Self> {
        Ok(Self {
            disk: copied(&self.disk)?,
            requests: Requests::default(),
            controllers: self.controllers.clone(),
            extensions: self.extensions.clone(),
            ..*self
        })
    }

    /// Runs one life in a new runtime. The runtime with all its tasks is dropped when `live` returns.
    ///
    /// # Errors
    /// The server does not start, or an error of `live`.
    pub fn live<T>(&mut self, live: impl AsyncFnOnce(&Life, &Requests) -> Result<T>) -> Result<T> {
        self.lives += 1;
        if self.lives == 1 {
            self.disk = Self::first_disk()?;
        }
        let runtime = if self.is_in_real_time { real_runtime()? } else { paused_runtime()? };
        let (outcome, now) = runtime.block_on(async {
            let clock = if self.is_in_real_time { Clock::system() } else { Clock::simulated(self.now) };
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
        let network = Cables::default();
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.lives);
        let (store, plane) =
            simulation::start(self.disk.clone(), clock, seed, Arc::new(network.clone())).await?;
        let user = access::User::master(CONTROLLER_USER);
        let service = Counting::new(plane.server.client_service(user), &self.requests)
            .edited_by(plane.server.client_service(access::User::master("user")));
        let manager = plane.manager_with(kube::Client::new(service, "default"));
        let mut context = Context::new(&manager);
        if let Some(extensions) = &self.extensions {
            context.extensions = Client::new(&manager, extensions.clone());
        }
        controllers::start(&context, &self.controllers);
        let workloads = context.simulated.get().cloned();
        Ok(Life { plane, store, manager, clock: clock.clone(), network, workloads })
    }
}
