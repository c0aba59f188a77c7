//! The records of a journal, and what they add up to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::Key;
use crate::plan::Plan;

/// Which pivot a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// A random name of this pivot.
    pub id: String,
    /// Identity of the source: UID of its namespace kube-system.
    pub source: String,
    /// The same of the target.
    pub target: String,
    /// What people call the target: its address. Journals of earlier versions lack it.
    #[serde(default)]
    pub target_name: String,
    /// The namespace that moves; empty for all.
    pub namespace: String,
    /// The source keeps its objects, paused and marked.
    pub keep_source: bool,
}

/// What a Cluster or ClusterClass of the source was like before it was paused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// Which.
    pub object: Key,
    /// The user's own `spec.paused`, or the annotation of a ClusterClass; null where there was none.
    pub paused: Value,
    /// Who managed which fields.
    pub managed_fields: Value,
}

/// A source object whose copy was found equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Which.
    pub object: Key,
    /// Its state at the source.
    pub resource_version: String,
    /// Of what must arrive ([`crate::normal::fingerprint`]).
    pub fingerprint: u64,
}

/// What is about to be done, or has been done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A pivot begins.
    Started(Header),
    /// What it is going to do; a later one replaces it.
    Planned(Plan),
    /// These are about to be paused at the source.
    Pausing(Vec<Before>),
    /// All of them are paused.
    Paused,
    /// These are about to be created at the target, where they were not before.
    Copying(Vec<Key>),
    /// They are there, with these identities.
    Copied(Vec<(Key, String)>),
    /// These were there already and are left as they are.
    Left(Vec<(Key, String)>),
    /// All copies were read back and are equal.
    Verified(Vec<Verified>),
    /// The source's Clusters are about to be marked as moved.
    HandingOver,
    /// They are marked: from here on the pivot can only be finished.
    HandedOver,
    /// The target's Clusters are no longer paused.
    Unpaused,
    /// These are about to be deleted at the source.
    Deleting(Vec<Key>),
    /// They are gone, but for those that changed after they were copied, and their owners.
    Deleted {
        /// What was kept.
        changed: Vec<Key>,
    },
    /// All is done.
    Done,
    /// The target's copies are about to be deleted and the source's Clusters unpaused.
    RollingBack,
    /// That is done.
    RolledBack,
}

/// What the records add up to.
#[derive(Debug, Default)]
pub struct State {
    /// Which pivot it is; `None` before the first record.
    pub header: Option<Header>,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The first entry of each object counts: later ones saw our own pause.
    pub before: BTreeMap<Key, Before>,
    /// Everything is paused at the source.
    pub paused: bool,
    /// What may have been created at the target.
    pub copying: BTreeSet<Key>,
    /// Identities at the target of what was created there.
    pub copied: BTreeMap<Key, String>,
    /// Identities at the target of what was there already.
    pub left: BTreeMap<Key, String>,
    /// The source's states that were found equal.
    pub verified: BTreeMap<Key, Verified>,
    /// Marking may have begun.
    pub handing_over: bool,
    /// No way back.
    pub handed_over: bool,
    /// The target works.
    pub unpaused: bool,
    /// What may have been deleted at the source.
    pub deleting: BTreeSet<Key>,
    /// What was kept since it had changed.
    pub changed: BTreeSet<Key>,
    /// Finished.
    pub done: bool,
    /// A roll-back has begun.
    pub rolling_back: bool,
    /// Rolled back.
    pub rolled_back: bool,
    /// How many records there are.
    pub records: usize,
}

impl State {
    /// Takes note of a record.
    pub fn take(&mut self, record: Record) {
        self.records += 1;
        match record {
            Record::Started(header) => self.header = Some(header),
            Record::Planned(plan) => self.plan = Some(plan),
            Record::Pausing(all) => {
                for before in all {
                    self.before.entry(before.object.clone()).or_insert(before);
                }
            }
            Record::Paused => self.paused = true,
            Record::Copying(keys) => self.copying.extend(keys),
            Record::Copied(all) => self.copied.extend(all),
            Record::Left(all) => self.left.extend(all),
            Record::Verified(all) => {
                self.verified = all.into_iter().map(|entry| (entry.object.clone(), entry)).collect();
            }
            Record::HandingOver => self.handing_over = true,
            Record::HandedOver => self.handed_over = true,
            Record::Unpaused => self.unpaused = true,
            Record::Deleting(keys) => self.deleting.extend(keys),
            Record::Deleted { changed } => self.changed.extend(changed),
            Record::Done => self.done = true,
            Record::RollingBack => self.rolling_back = true,
            Record::RolledBack => self.rolled_back = true,
        }
    }

    /// Whether the pivot has ended, one way or the other.
    pub fn ended(&self) -> bool {
        self.done || self.rolled_back
    }
}
