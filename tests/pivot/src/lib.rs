//! Two servers in one process, a cluster on simulated machines at the first one, and fault injection between
//! a pivot and both servers.
//!
//! Everything runs with a paused clock in one thread. The content of the disks ([`fixture`]) is created once
//! per process and copied for each case.

pub mod faults;
pub mod fixture;
pub mod graphs;
pub mod journal;
pub mod model;
pub mod outcome;
pub mod place;
pub mod recorded;
pub mod requests;
pub mod watch;
pub mod workload;

use std::sync::Arc;

use anyhow::Result;
use chrono::DateTime;
use machinery::clock::Clock;
use machinery::random::Random;
use net::{Network, SimulatedNetwork};
use pivot::journal::MemoryDisk;
use pivot::progress::{Progress, Silent};
use pivot::{Journal, Options, Pivot};
use store::Memory;

use crate::faults::Faults;
use crate::fixture::Fixture;
use crate::journal::{FailingDisk, Stop};
use crate::place::Place;
use crate::watch::Watch;

/// Source, target and the connections between them.
pub struct Scene {
    /// The server that has the objects.
    pub source: Place,
    /// The server to which the objects move.
    pub target: Place,
    /// Faults for the requests of the pivot.
    pub faults: Faults,
    /// Records every time at which both sides would reconcile the same cluster.
    pub watch: Watch,
    /// The journal's disk.
    pub disk: MemoryDisk,
    /// The network of the machine on which both servers run.
    pub network: Arc<dyn Network>,
    /// The clock of both servers and of the pivot.
    pub clock: Clock,
    random: Random,
}

impl Scene {
    /// Both servers with the content of the fixture.
    ///
    /// # Errors
    /// A server does not start.
    pub async fn new(fixture: &Fixture) -> Result<Self> {
        Self::on(fixture.source(), fixture.target()).await
    }

    /// Both servers with the content of these disks.
    ///
    /// # Errors
    /// A server does not start.
    pub async fn on(source: Memory, target: Memory) -> Result<Self> {
        let clock = Clock::simulated(DateTime::from_timestamp(1_800_100_000, 0).unwrap_or_default());
        let network: Arc<dyn Network> = Arc::new(SimulatedNetwork::new());
        let source = Place::start_in(network.clone(), "source", source, &clock, 11).await?;
        let target = Place::start_in(network.clone(), "target", target, &clock, 12).await?;
        let watch = Watch::new(&source, &target);
        Ok(Self {
            source,
            target,
            faults: Faults::default(),
            watch,
            disk: MemoryDisk::default(),
            network,
            clock,
            random: Random::seeded(7),
        })
    }

    /// A pivot whose journal fails at `stop`.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub fn pivot_with(&self, options: Options, stop: Option<Stop>) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(FailingDisk::new(self.disk.clone(), stop)))?;
        Ok(self.assemble(&self.source, &self.target, journal, options))
    }

    /// A pivot of all objects from the target to the source.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub fn pivot_back(&self) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(MemoryDisk::default()))?;
        Ok(self.assemble(&self.target, &self.source, journal, Options::default()))
    }

    /// A pivot of all objects that authenticates as these users at source and target.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub fn pivot_as(&self, at_source: access::User, at_target: access::User) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(self.disk.clone()))?;
        let server = |place: &Place, user| {
            let service = self.faults.between_as(user, place, &self.watch);
            pivot::Server::new(place.role, kube::Client::new(service, "default"), self.clock.clone())
        };
        let (source, target) = (server(&self.source, at_source), server(&self.target, at_target));
        let options = Options::default();
        Ok(Pivot::new(source, target, journal, options, self.random.clone(), Arc::new(Silent)))
    }

    /// Replaces the target by a server with the content of `disk`.
    ///
    /// # Errors
    /// The server does not start.
    pub async fn replace_target(&mut self, disk: Memory) -> Result<()> {
        self.target = Place::start_in(self.network.clone(), "target", disk, &self.clock, 13).await?;
        self.watch = Watch::new(&self.source, &self.target);
        Ok(())
    }

    /// A pivot of all objects that tells its progress.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub fn pivot_told(&self, progress: Arc<dyn Progress>) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(self.disk.clone()))?;
        Ok(self.assemble_told(&self.source, &self.target, journal, Options::default(), progress))
    }

    fn assemble(&self, from: &Place, to: &Place, journal: Journal, options: Options) -> Pivot {
        self.assemble_told(from, to, journal, options, Arc::new(Silent))
    }

    fn assemble_told(
        &self,
        from: &Place,
        to: &Place,
        journal: Journal,
        options: Options,
        progress: Arc<dyn Progress>,
    ) -> Pivot {
        let server = |place: &Place| {
            let service = self.faults.between(place, &self.watch);
            pivot::Server::new(place.role, kube::Client::new(service, "default"), self.clock.clone())
        };
        Pivot::new(server(from), server(to), journal, options, self.random.clone(), progress)
    }

    /// A pivot of all objects.
    ///
    /// # Errors
    /// Those of [`Scene::pivot_with`].
    pub fn pivot(&self) -> pivot::Result<Pivot> {
        self.pivot_with(Options::default(), None)
    }
}

/// Runs one case with a paused clock.
///
/// # Panics
/// The runtime cannot start.
pub fn simulated<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(case),
        Err(error) => panic!("cannot start a runtime: {error}"),
    }
}
