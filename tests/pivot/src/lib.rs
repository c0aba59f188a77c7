//! Two planes in one process, a cluster on simulated machines at the first, and faults between them and a pivot.
//!
//! Everything runs under a paused clock in one thread. What a disk would hold ([`fixture`]) is made once a process and copied for each
//! case.

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
use engine::network::{Network, SimulatedNetwork};
use machinery::clock::Clock;
use machinery::random::Random;
use pivot::journal::MemoryDisk;
use pivot::progress::Silent;
use pivot::{Journal, Options, Pivot};
use store::Memory;

use crate::faults::Faults;
use crate::fixture::Fixture;
use crate::journal::{FailingDisk, Stop};
use crate::place::Place;
use crate::watch::Watch;

/// Source, target, and what lies between them.
pub struct Scene {
    /// Where the objects are.
    pub source: Place,
    /// Where they shall be.
    pub target: Place,
    /// Requests of the pivot.
    pub faults: Faults,
    /// Notes every moment at which both sides would reconcile a cluster.
    pub watch: Watch,
    /// The journal's disk.
    pub disk: MemoryDisk,
    /// The machine on which both run.
    pub network: Arc<dyn Network>,
    /// The only time there is.
    pub clock: Clock,
    random: Random,
}

impl Scene {
    /// Both planes with what the fixture holds.
    ///
    /// # Errors
    /// Where a plane does not start.
    pub async fn new(fixture: &Fixture) -> Result<Self> {
        Self::on(fixture.source(), fixture.target()).await
    }

    /// Both planes on these disks.
    ///
    /// # Errors
    /// Where a plane does not start.
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

    /// A pivot whose journal fails as `stop` says.
    ///
    /// # Errors
    /// Where the journal cannot be opened.
    pub fn pivot_with(&self, options: Options, stop: Option<Stop>) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(FailingDisk::new(self.disk.clone(), stop)))?;
        Ok(self.assemble(&self.source, &self.target, journal, options))
    }

    /// A pivot of everything from the target to the source.
    ///
    /// # Errors
    /// Where the journal cannot be opened.
    pub fn pivot_back(&self) -> pivot::Result<Pivot> {
        let journal = Journal::open(Box::new(MemoryDisk::default()))?;
        Ok(self.assemble(&self.target, &self.source, journal, Options::default()))
    }

    /// A pivot of everything by these users of source and target.
    ///
    /// # Errors
    /// Where the journal cannot be opened.
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

    /// The target loses what it holds: from here on it holds what `disk` does.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn replace_target(&mut self, disk: Memory) -> Result<()> {
        self.target = Place::start_in(self.network.clone(), "target", disk, &self.clock, 13).await?;
        self.watch = Watch::new(&self.source, &self.target);
        Ok(())
    }

    fn assemble(&self, from: &Place, to: &Place, journal: Journal, options: Options) -> Pivot {
        let server = |place: &Place| {
            let service = self.faults.between(place, &self.watch);
            pivot::Server::new(place.role, kube::Client::new(service, "default"), self.clock.clone())
        };
        Pivot::new(server(from), server(to), journal, options, self.random.clone(), Arc::new(Silent))
    }

    /// A pivot of everything.
    ///
    /// # Errors
    /// As [`Scene::pivot_with`].
    pub fn pivot(&self) -> pivot::Result<Pivot> {
        self.pivot_with(Options::default(), None)
    }
}

/// Runs one case under a paused clock.
///
/// # Panics
/// Where the runtime cannot start.
pub fn simulated<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(case),
        Err(error) => panic!("cannot start a runtime: {error}"),
    }
}
