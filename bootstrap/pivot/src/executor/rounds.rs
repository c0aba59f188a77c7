//! Copies in rounds, until both sides are equal and the source does not change any more, and then hands over.

use std::collections::{BTreeMap, BTreeSet};

use super::copy::{self, Done};
use super::namespaces::Namespaces;
use super::snapshot::Snapshot;
use super::{Pivot, delete, hand_over, held, pause, providers, roll_back, verify};
use crate::desired::Identities;
use crate::error::{Error, Result};
use crate::inventory::Provider;
use crate::journal::{Journal, Record};
use crate::limits;
use crate::object::Key;
use crate::progress::Phase;

/// What a run knows besides its journal.
pub(super) struct Work {
    snapshot: Snapshot,
    namespaces: Namespaces,
    identities: Identities,
    /// The objects for which the wait has been given up.
    given_up: BTreeSet<Key>,
}

impl Work {
    pub(super) fn new(snapshot: Snapshot, namespaces: Namespaces) -> Self {
        Self { snapshot, namespaces, identities: Identities::default(), given_up: BTreeSet::new() }
    }
}

impl Pivot {
    /// Continues from the state of the journal to the end of the pivot. `there` is the inventory of providers of the target, if it has
    /// been read.
    pub(super) async fn go_on(&mut self, mut work: Work, there: Option<Vec<Provider>>) -> Result<()> {
        let marked = if self.journal.state().handed_over {
            BTreeMap::new()
        } else {
            let marked = self.copy_and_mark(&mut work).await?;
            self.journal.append(Record::HandedOver)?;
            marked
        };
        let Work { snapshot, mut identities, .. } = work;
        let Self { source, target, journal, phases, .. } = self;
        if !journal.state().unpaused {
            let unpaused = hand_over::unpause(target, journal.state(), &snapshot, &mut identities);
            phases.during(Phase::HandOver, unpaused).await?;
            let needed = snapshot.discovery().needed(snapshot.inventory());
            providers::enter(source, target, &needed, there).await?;
            journal.append(Record::Unpaused)?;
        }
        let keep = journal.state().header.as_ref().is_some_and(|header| header.keep_source);
        if !keep {
            let deleted = delete::delete(source, journal, phases, &snapshot, &marked);
            phases.during(Phase::Delete, deleted).await?;
        }
        journal.append(Record::Done)
    }

    /// Returns the resource versions at the source of the objects that are marked as moved. Apart from the mark they are equal to the
    /// verified ones.
    async fn copy_and_mark(&mut self, work: &mut Work) -> Result<BTreeMap<Key, String>> {
        for _ in 0..=limits::ROUNDS {
            self.copy_until_equal(work).await?;
            let Self { source, journal, phases, .. } = self;
            let marked = hand_over::mark(source, journal, &work.snapshot);
            if let Some(marked) = phases.during(Phase::HandOver, marked).await? {
                return Ok(marked);
            }
        }
        Err(Error::Blocked(
            "Clusters of the source change all the time although they are paused; find out who writes them \
             (`kubectl get cluster -o yaml --show-managed-fields`), then --resume"
                .into(),
        ))
    }

    /// Copies until all copies have been read back as equal, and the source has not changed meanwhile.
    async fn copy_until_equal(&mut self, work: &mut Work) -> Result<()> {
        let Self { source, target, journal, phases, report, .. } = self;
        let Work { snapshot, namespaces, identities, given_up } = work;
        let mut done = Done::new();
        let mut last = None;
        for _ in 0..=limits::ROUNDS {
            note_plan(journal, snapshot)?;
            namespaces.ensure(source, target, &snapshot.inventory().plan).await?;
            phases.during(Phase::Pause, pause::pause(source, journal, phases, snapshot)).await?;
            let findings = &mut report.findings;
            let released = held::wait_until_released(source, phases, snapshot, given_up, findings);
            phases.during(Phase::Pause, released).await?;
            // Providers may have created objects for the move.
            note_plan(journal, snapshot)?;
            let copied = copy::copy(target, journal, phases, snapshot, identities, &mut done);
            phases.during(Phase::Copy, copied).await?;
            roll_back::remove_vanished(target, journal.state(), snapshot).await?;
            if snapshot.is_same_again(source).await? {
                let compared = verify::verify(target, journal, phases, snapshot, identities);
                let compared = phases.during(Phase::Verify, compared).await?;
                report.findings.extend(compared.findings);
                if compared.different.is_empty() {
                    return Ok(());
                }
                for (key, _) in &compared.different {
                    done.remove(key);
                }
                last = compared.different.into_iter().next();
            }
            source.clock().sleep(limits::ROUND_PAUSE).await;
        }
        Err(match last {
            Some((key, difference)) => Error::Different {
                object: key.to_string(),
                difference,
                advice: "Find out who changes it (`kubectl get -o yaml --show-managed-fields`), then --resume or --roll-back",
            },
            None => Error::Blocked(
                "objects of the source change all the time although their Clusters are paused; stop whoever writes them, then --resume"
                    .into(),
            ),
        })
    }
}

/// Adds the plan to the journal if it has changed.
fn note_plan(journal: &mut Journal, snapshot: &Snapshot) -> Result<()> {
    let plan = &snapshot.inventory().plan;
    if journal.state().plan.as_ref() != Some(plan) {
        journal.append(Record::Planned(plan.clone()))?;
    }
    Ok(())
}
