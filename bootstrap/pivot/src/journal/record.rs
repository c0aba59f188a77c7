//! The records of a journal, and the state that they give.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::Key;
use crate::plan::Plan;

/// Describes the pivot that a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// A random identifier of this pivot.
    pub id: String,
    /// Identity of the source: the UID of its namespace kube-system.
    pub source: String,
    /// Identity of the target, likewise.
    pub target: String,
    /// The target's address, by which people know it. Journals of earlier versions lack it.
    #[serde(default)]
    pub target_name: String,
    /// The namespace that moves; empty for all namespaces.
    pub namespace: String,
    /// Whether the source keeps its objects, paused and marked.
    pub keep_source: bool,
}

/// State of a Cluster or ClusterClass of the source before it was paused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// The Cluster or ClusterClass.
    pub object: Key,
    /// The user's own `spec.paused`, or the annotation of a ClusterClass; null if there was none.
    pub paused: Value,
    /// Its `managedFields`.
    pub managed_fields: Value,
}

/// A source object whose copy was compared and is equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The object.
    pub object: Key,
    /// Its resource version at the source.
    pub resource_version: String,
    /// Fingerprint of the parts that must arrive ([`crate::normal::fingerprint`]).
    pub fingerprint: u64,
}

/// A step that is about to be done, or has been done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A pivot begins.
    Started(Header),
    /// The plan; a later one replaces it.
    Planned(Plan),
    /// These objects are about to be paused at the source.
    Pausing(Vec<Before>),
    /// All of them are paused.
    Paused,
    /// These objects, which the target did not have before, are about to be created there.
    Copying(Vec<Key>),
    /// They are created, with these UIDs at the target.
    Copied(Vec<(Key, String)>),
    /// The target already had these objects, with these UIDs; they are left as they are.
    Left(Vec<(Key, String)>),
    /// All copies were read back and are equal.
    Verified(Vec<Verified>),
    /// The source's Clusters are about to be marked as moved.
    HandingOver,
    /// They are marked: from here on the pivot can only be finished, not rolled back.
    HandedOver,
    /// The target's Clusters are unpaused.
    Unpaused,
    /// These objects are about to be deleted at the source.
    Deleting(Vec<Key>),
    /// They are deleted, except those that changed after they were copied, and the owners of those.
    Deleted {
        /// The objects that were kept.
        changed: Vec<Key>,
    },
    /// The pivot is complete.
    Done,
    /// The target's copies are about to be deleted and the source's Clusters unpaused.
    RollingBack,
    /// The roll-back is complete.
    RolledBack,
}

/// The state that all records together give.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Describes the pivot; `None` before the first record.
    pub header: Option<Header>,
    /// The last plan.
    pub plan: Option<Plan>,
    /// State of each object before it was paused. Only the first entry of an object counts: later ones already contain our own pause.
    pub before: BTreeMap<Key, Before>,
    /// Whether everything is paused at the source.
    pub paused: bool,
    /// Objects that may have been created at the target.
    pub copying: BTreeSet<Key>,
    /// UIDs at the target of the objects that the pivot created there.
    pub copied: BTreeMap<Key, String>,
    /// UIDs at the target of the objects that it already had.
    pub left: BTreeMap<Key, String>,
    /// Source objects whose copies were compared and are equal.
    pub verified: BTreeMap<Key, Verified>,
    /// Whether marking may have begun.
    pub handing_over: bool,
    /// Whether the hand-over is complete; a roll-back is then impossible.
    pub handed_over: bool,
    /// Whether the target's Clusters are unpaused.
    pub unpaused: bool,
    /// Objects that may have been deleted at the source.
    pub deleting: BTreeSet<Key>,
    /// Objects that the source kept because they had changed.
    pub changed: BTreeSet<Key>,
    /// Whether the pivot is finished.
    pub done: bool,
    /// Whether a roll-back has begun.
    pub rolling_back: bool,
    /// Whether it is rolled back.
    pub rolled_back: bool,
    /// The number of records.
    pub records: usize,
}

impl State {
    /// Applies a record.
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

    /// Returns whether the pivot has ended, by completion or by roll-back.
    pub fn ended(&self) -> bool {
        self.done || self.rolled_back
    }
}
