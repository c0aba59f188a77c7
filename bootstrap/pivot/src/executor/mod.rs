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
mod providers;
mod recorded;
mod roll_back;
mod verify;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery::random::Random;
use tokio::time::Instant;

use crate::desired::Identities;
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Provider};
use crate::journal::{Header, Journal, Record};
use crate::kinds::Kind;
use crate::limits;
use crate::object::Key;
use crate::plan::Plan;
use crate::preflight;
use crate::progress::{Phase, Progress};
use crate::report::Report;
use crate::server::Server;

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
    progress: Arc<dyn Progress>,
    report: Report,
}

/// The data of a run.
struct Work {
    discovery: Discovery,
    scope: Scope,
    inventory: Inventory,
    identities: Identities,
    /// The namespaces that are known to exist at the target.
    namespaces: BTreeSet<String>,
    /// The objects for which the wait has been given up.
    given_up: BTreeSet<Key>,
    /// The `resourceVersion`s at the source of the objects that are marked as moved. Apart from the mark they are equal to the verified
    /// ones.
    marked: BTreeMap<Key, String>,
    /// The provider inventory of the target, if it has been read.
    providers: Option<Vec<Provider>>,
}

impl Work {
    fn new(discovery: Discovery, scope: Scope, inventory: Inventory) -> Self {
        Self {
            discovery,
            scope,
            inventory,
            identities: Identities::default(),
            namespaces: BTreeSet::new(),
            given_up: BTreeSet::new(),
            marked: BTreeMap::new(),
            providers: None,
        }
    }

    fn kind(&self, index: usize) -> &Kind {
        &self.discovery.kinds[index]
    }

    fn kind_of(&self, key: &Key) -> Option<&Kind> {
        self.discovery.kinds.iter().find(|kind| key.is(&kind.group, &kind.kind))
    }
}

/// Returns the URL path of an object.
fn path(kind: &Kind, key: &Key) -> String {
    format!("{}/{}", kind.path(&key.namespace), key.name)
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
        Self { source, target, journal, options, target_name, random, progress, report }
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
        let work = self.read().await?;
        let (source, target) = futures::try_join!(self.source.identity(), self.target.identity())?;
        if source == target {
            // Source and target are the same if the objects are saved in a directory.
            self.report.findings = work.inventory.unsteady.clone();
        } else {
            let there = Discovery::read(&self.target).await?;
            self.look(&work, &there).await?;
        }
        let plan = work.inventory.plan;
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
        self.begin_anew()?;
        let (source, target) = self.identities().await?;
        let mut work = self.read().await?;
        let there = Discovery::read(&self.target).await?;
        work.namespaces = self.look(&work, &there).await?;
        refuse(&self.report.findings)?;
        self.journal.append(Record::Started(Header {
            id: self.random.uid(),
            source,
            target,
            target_name: self.target_name.clone(),
            namespace: self.options.namespace.clone(),
            keep_source: self.options.keep_source,
        }))?;
        self.journal.append(Record::Planned(work.inventory.plan.clone()))?;
        self.ensure_namespaces(&mut work).await?;
        let tried = self.try_creations(&work, &there).await;
        let refused = match tried {
            Ok(refused) => refused,
            Err(error) => {
                // Nothing is paused yet, so the pivot is reverted instead of resumed.
                self.undo(&work).await?;
                return Err(error);
            }
        };
        if !refused.is_empty() {
            self.report.findings.extend(refused);
            self.undo(&work).await?;
            refuse(&self.report.findings)?;
        }
        work.providers = Some(there.providers);
        self.go_on(&mut work).await?;
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
        let mut work = self.read().await?;
        self.go_on(&mut work).await?;
        Ok(self.finish())
    }

    /// Reverts the pivot in the journal: the copies at the target are deleted, and the source is unpaused.
    ///
    /// # Errors
    /// The errors of [`Pivot::resume`]; the pivot has already handed over.
    pub async fn roll_back(mut self) -> Result<Report> {
        let saving = self.journal.state().header.as_ref();
        if !saving.is_some_and(|header| header.target.starts_with(directory::DIRECTORY)) {
            self.continue_journal().await?;
        }
        self.refuse_after_hand_over()?;
        let work = self.read().await?;
        self.undo(&work).await?;
        Ok(self.finish())
    }

    /// Reverts the pivot only at the source, if the target is gone for good. Its copies stay there, paused. If the target returns, they
    /// must be deleted before they are unpaused.
    ///
    /// # Errors
    /// The errors of [`Pivot::roll_back`].
    pub async fn roll_back_without_target(mut self) -> Result<Report> {
        let source = self.source.identity().await?;
        self.check_journal(&[("source", source)])?;
        self.refuse_after_hand_over()?;
        let work = self.read().await?;
        self.undo_at_source(&work).await?;
        Ok(self.finish())
    }

    async fn read(&mut self) -> Result<Work> {
        let began = self.begin(Phase::Read);
        let discovery = Discovery::read(&self.source).await?;
        let scope = discovery.scope(&self.options.namespace);
        let inventory = discovery.inventory(&self.source, &scope).await?;
        self.progress.at(Phase::Read, inventory.items.len(), inventory.items.len());
        self.end(Phase::Read, began);
        Ok(Work::new(discovery, scope, inventory))
    }

    /// Runs preflight, and returns the namespaces that exist at the target.
    async fn look(&mut self, work: &Work, there: &Discovery) -> Result<BTreeSet<String>> {
        let began = self.begin(Phase::Preflight);
        let Work { discovery, inventory, .. } = work;
        let looked = preflight::look(&self.source, &self.target, discovery, there, inventory).await?;
        self.report.findings = looked.findings;
        self.end(Phase::Preflight, began);
        Ok(looked.namespaces)
    }

    async fn try_creations(&mut self, work: &Work, there: &Discovery) -> Result<Vec<Finding>> {
        let began = self.begin(Phase::Preflight);
        let Work { discovery, inventory, .. } = work;
        let tried = preflight::try_all(&self.source, &self.target, discovery, there, inventory).await?;
        self.report.tried = tried.0;
        self.end(Phase::Preflight, began);
        Ok(tried.1)
    }

    /// Continues from the state of the journal to the end of the pivot.
    async fn go_on(&mut self, work: &mut Work) -> Result<()> {
        if !self.journal.state().handed_over {
            for round in 0.. {
                self.copy_until_equal(work).await?;
                if self.mark(work).await? {
                    break;
                }
                if round == limits::ROUNDS {
                    return Err(Error::Blocked(
                        "Clusters of the source change all the time although they are paused; find out who writes them \
                         (`kubectl get cluster -o yaml --show-managed-fields`), then --resume"
                            .into(),
                    ));
                }
            }
            self.journal.append(Record::HandedOver)?;
        }
        if !self.journal.state().unpaused {
            self.unpause_target(work).await?;
            self.enter_providers(work).await?;
            self.journal.append(Record::Unpaused)?;
        }
        let keep = self.journal.state().header.as_ref().is_some_and(|header| header.keep_source);
        if !keep {
            self.delete_source(work).await?;
        }
        self.journal.append(Record::Done)
    }

    fn begin(&self, phase: Phase) -> Instant {
        self.progress.at(phase, 0, 0);
        self.source.clock().monotonic()
    }

    fn end(&mut self, phase: Phase, began: Instant) {
        let seconds = (self.source.clock().monotonic() - began).as_secs_f64();
        match self.report.seconds.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.report.seconds.push((phase, seconds)),
        }
    }

    fn finish(mut self) -> Report {
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
