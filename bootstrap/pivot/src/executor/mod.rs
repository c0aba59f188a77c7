//! The executor: does what the plan says, a journal record before each step. It can be killed anywhere; run again it finishes or undoes.
//!
//! Order of things, so that at no instant both servers reconcile one cluster: the source is paused before anything is created at the
//! target; what is created there is paused; the source is marked as moved before the target is unpaused. From that mark on there is only
//! the way forward.

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
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Provider};
use crate::journal::{Header, Journal, Record};
use crate::kinds::Kind;
use crate::limits;
use crate::object::Key;
use crate::plan::Plan;
use crate::preflight::{self, Finding, Severity};
use crate::progress::{Phase, Progress};
use crate::report::Report;
use crate::server::Server;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only this namespace; all where empty.
    pub namespace: String,
    /// The source keeps its objects, paused and marked.
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

/// What one run works with.
struct Work {
    discovery: Discovery,
    scope: Scope,
    inventory: Inventory,
    identities: Identities,
    /// Namespaces that are known to be at the target.
    namespaces: BTreeSet<String>,
    /// What is not waited for any longer.
    given_up: BTreeSet<Key>,
    /// resourceVersions at the source of what was marked as moved: but for the mark it is what was verified.
    marked: BTreeMap<Key, String>,
    /// The inventory of the target, where it was read already.
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

/// The path of an object.
fn path(kind: &Kind, key: &Key) -> String {
    format!("{}/{}", kind.path(&key.namespace), key.name)
}

impl Pivot {
    /// A pivot whose state is in `journal`.
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

    /// Writes down what people call the target: where its objects are is said by this name later.
    #[must_use]
    pub fn target_called(mut self, name: impl Into<String>) -> Self {
        self.target_name = name.into();
        self
    }

    /// What would move and what stands in the way. Nothing is written on either server or in the journal.
    ///
    /// # Errors
    /// Where a server cannot be read.
    pub async fn preview(mut self) -> Result<(Plan, Report)> {
        let work = self.read().await?;
        let (source, target) = futures::try_join!(self.source.identity(), self.target.identity())?;
        if source == target {
            // Objects that are to be saved in a directory have no other target.
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

    /// Moves everything.
    ///
    /// # Errors
    /// What preflight found; a server that refuses or is away; a disk that refuses. The pivot can be resumed then.
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
                // Nothing is paused yet: there is nothing to resume.
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

    /// Finishes what the journal says was begun.
    ///
    /// # Errors
    /// As [`Pivot::run`]; a journal of another pair of servers, or of a pivot that has ended.
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

    /// Undoes what the journal says was begun: the target loses the copies, the source goes on as before.
    ///
    /// # Errors
    /// As [`Pivot::resume`]; a pivot that has handed over already.
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

    /// Undoes at the source alone, where the target is gone for good. What was copied to it stays there, paused: should it come back, its
    /// copies must be deleted before anybody unpauses them.
    ///
    /// # Errors
    /// As [`Pivot::roll_back`].
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

    /// Preflight; answers the namespaces that the target has.
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

    /// From wherever the journal stands to the end.
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
