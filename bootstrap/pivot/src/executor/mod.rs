//! The executor: carries out the plan, with a journal record before each step. It can be killed at any point; another run completes or
//! reverts the pivot.
//!
//! The order of the steps ensures that both servers never reconcile the same cluster: the source is paused before anything is created
//! at the target, the objects at the target are created paused, and the source is marked as moved before the target is unpaused. After
//! that mark, the pivot can only be completed.

mod copy;
mod delete;
mod directory;
mod files;
mod hand_over;
mod held;
mod namespaces;
mod pause;
mod phases;
mod providers;
mod recorded;
mod roll_back;
mod rounds;
mod snapshot;
mod verify;
mod write;

use std::sync::Arc;

use machinery::random::Random;

use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::inventory::Discovery;
use crate::journal::{Header, Journal, Record};
use crate::plan::Plan;
use crate::preflight;
use crate::progress::{Phase, Progress};
use crate::report::Report;
use crate::server::Server;

use namespaces::Namespaces;
use phases::Phases;
use rounds::Work;
use snapshot::Snapshot;

/// The options of a pivot.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The namespace to move; empty for all namespaces.
    pub namespace: String,
    /// Whether the source keeps its objects, paused and marked as moved.
    pub keep_source: bool,
}

/// A pivot from one server to another.
pub struct Pivot {
    source: Server,
    target: Server,
    journal: Journal,
    options: Options,
    target_name: String,
    random: Random,
    phases: Phases,
    report: Report,
}

impl Pivot {
    /// Returns a pivot whose state is in `journal`.
    pub fn new(
        source: Server,
        target: Server,
        journal: Journal,
        options: Options,
        random: Random,
        progress: Arc<dyn Progress>,
    ) -> Self {
        let (target_name, report) = (String::new(), Report::default());
        let phases = Phases::new(source.clock().clone(), progress);
        Self { source, target, journal, options, target_name, random, phases, report }
    }

    /// Sets the name of the target, which the journal records for later messages about the location of the objects.
    #[must_use]
    pub fn target_called(mut self, name: impl Into<String>) -> Self {
        self.target_name = name.into();
        self
    }

    /// Returns the plan, and a report with the findings of preflight. Nothing is written on either server or in the journal.
    ///
    /// # Errors
    /// A server cannot be read.
    pub async fn preview(mut self) -> Result<(Plan, Report)> {
        let snapshot = self.read().await?;
        let (source, target) = futures::try_join!(self.source.identity(), self.target.identity())?;
        if source == target {
            // Source and target are the same if the objects are saved in a directory.
            self.report.findings = snapshot.inventory().unsteady.clone();
        } else {
            let there = Discovery::read(&self.target).await?;
            self.look(&snapshot, &there).await?;
        }
        let plan = snapshot.inventory().plan.clone();
        self.journal = Journal::open(Box::new(crate::journal::MemoryDisk::default()))?;
        self.journal.append(Record::Planned(plan.clone()))?;
        Ok((plan, self.finish()))
    }

    /// Runs the pivot.
    ///
    /// # Errors
    /// Preflight finds errors, a server refuses a request or cannot be reached, or the journal cannot be written. The pivot can then be
    /// resumed.
    pub async fn run(mut self) -> Result<Report> {
        recorded::begin_anew(&mut self.journal)?;
        let (source, target) = recorded::identities(&self.source, &self.target).await?;
        let snapshot = self.read().await?;
        let there = Discovery::read(&self.target).await?;
        let mut namespaces = self.look(&snapshot, &there).await?;
        refuse(&self.report.findings)?;
        self.journal.append(Record::Started(Header {
            id: self.random.uid(),
            source,
            target,
            target_name: self.target_name.clone(),
            namespace: self.options.namespace.clone(),
            keep_source: self.options.keep_source,
        }))?;
        self.journal.append(Record::Planned(snapshot.inventory().plan.clone()))?;
        namespaces.ensure(&self.source, &self.target, &snapshot.inventory().plan).await?;
        let tried = self.try_creations(&snapshot, &there).await;
        let refused = match tried {
            Ok(refused) => refused,
            Err(error) => {
                // Nothing is paused yet, so the pivot is reverted instead of resumed.
                self.undo(&snapshot).await?;
                return Err(error);
            }
        };
        if !refused.is_empty() {
            self.report.findings.extend(refused);
            self.undo(&snapshot).await?;
            refuse(&self.report.findings)?;
        }
        self.go_on(Work::new(snapshot, namespaces), Some(there.providers)).await?;
        Ok(self.finish())
    }

    /// Completes the pivot in the journal.
    ///
    /// # Errors
    /// The errors of [`Pivot::run`]; the journal is of other servers, or of a pivot that has ended.
    pub async fn resume(mut self) -> Result<Report> {
        self.continue_journal().await?;
        if self.journal.state().rolling_back {
            return Err(Error::Journal(format!(
                "the pivot of {} is being rolled back; finish that with --roll-back",
                self.journal.path()
            )));
        }
        let snapshot = self.read().await?;
        self.go_on(Work::new(snapshot, Namespaces::default()), None).await?;
        Ok(self.finish())
    }

    /// Reverts the pivot in the journal: the copies at the target are deleted, and the source is unpaused.
    ///
    /// # Errors
    /// The errors of [`Pivot::resume`]; the pivot has already handed over.
    pub async fn roll_back(mut self) -> Result<Report> {
        let saving = self.journal.state().header.as_ref();
        if !saving.is_some_and(|header| header.target.starts_with(recorded::DIRECTORY)) {
            self.continue_journal().await?;
        }
        recorded::refuse_after_hand_over(self.journal.state())?;
        let snapshot = self.read().await?;
        self.undo(&snapshot).await?;
        Ok(self.finish())
    }

    /// Reverts the pivot only at the source, if the target is gone for good. Its copies stay there, paused. If the target returns, they
    /// must be deleted before they are unpaused.
    ///
    /// # Errors
    /// The errors of [`Pivot::roll_back`].
    pub async fn roll_back_without_target(mut self) -> Result<Report> {
        let source = self.source.identity().await?;
        self.options = recorded::options(&self.journal, &[("source", source)])?;
        recorded::refuse_after_hand_over(self.journal.state())?;
        let snapshot = self.read().await?;
        let undone = roll_back::at_source(&self.source, &mut self.journal, &snapshot);
        self.phases.during(Phase::RollBack, undone).await?;
        Ok(self.finish())
    }

    /// Takes the options of the pivot in the journal over.
    async fn continue_journal(&mut self) -> Result<()> {
        let (source, target) = recorded::identities(&self.source, &self.target).await?;
        self.options = recorded::options(&self.journal, &[("source", source), ("target", target)])?;
        Ok(())
    }

    async fn undo(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Self { source, target, journal, phases, .. } = self;
        phases.during(Phase::RollBack, roll_back::roll_back(source, target, journal, snapshot)).await
    }

    async fn read(&self) -> Result<Snapshot> {
        let read = Snapshot::read(&self.source, &self.options.namespace);
        let snapshot = self.phases.during(Phase::Read, read).await?;
        let count = snapshot.inventory().items.len();
        self.phases.at(Phase::Read, count, count);
        Ok(snapshot)
    }

    /// Runs preflight, and returns the namespaces that exist at the target.
    async fn look(&mut self, snapshot: &Snapshot, there: &Discovery) -> Result<Namespaces> {
        let (discovery, inventory) = (snapshot.discovery(), snapshot.inventory());
        let looked = preflight::look(&self.source, &self.target, discovery, there, inventory);
        let looked = self.phases.during(Phase::Preflight, looked).await?;
        self.report.findings = looked.findings;
        Ok(Namespaces::known(looked.namespaces))
    }

    async fn try_creations(&mut self, snapshot: &Snapshot, there: &Discovery) -> Result<Vec<Finding>> {
        let (discovery, inventory) = (snapshot.discovery(), snapshot.inventory());
        let tried = preflight::try_all(&self.source, &self.target, discovery, there, inventory);
        let (tried, refused) = self.phases.during(Phase::Preflight, tried).await?;
        self.report.tried = tried;
        Ok(refused)
    }

    fn finish(mut self) -> Report {
        self.report.seconds = self.phases.into_seconds();
        self.report.source_requests = self.source.requests();
        self.report.target_requests = self.target.requests();
        self.report.take_objects(self.journal.state());
        self.report
    }
}

fn refuse(findings: &[Finding]) -> Result<()> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<Finding> = errors.cloned().collect();
    if errors.is_empty() { Ok(()) } else { Err(Error::Preflight(errors)) }
}
