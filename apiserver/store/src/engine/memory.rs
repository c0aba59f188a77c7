//! An engine in memory, for tests, the simulation and simulated workload clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::row::FORMAT;
use super::{Batch, Engine, Loaded, Size, removed_by_trim};
use crate::change::Change;
use crate::error::EngineError;
use crate::revision::Revision;

/// Rows in memory. Clones share the rows, so a test can restart a store by opening a clone. The engine shares values
/// with the store and does not copy them.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    changes: BTreeMap<Revision, Change>,
    revision: Revision,
    compacted: Revision,
    /// Size of all keys and values in bytes.
    bytes: u64,
}

fn bytes(change: &Change) -> u64 {
    (change.key.as_str().len() + change.value.len()) as u64
}

impl Memory {
    /// Creates an empty engine.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine for Memory {
    fn load(&self) -> Result<Loaded, EngineError> {
        let rows = self.0.lock();
        let changes = rows.changes.values().cloned().collect();
        Ok(Loaded {
            revision: rows.revision,
            compacted: rows.compacted,
            changes,
            format: FORMAT,
            row_bytes: 0,
        })
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let mut rows = self.0.lock();
        rows.bytes += batch.changes.iter().map(bytes).sum::<u64>();
        rows.changes.extend(batch.changes.iter().map(|change| (change.revision, change.clone())));
        rows.revision = batch.revision;
        if let Some(trim) = batch.trim.filter(|trim| *trim > rows.compacted) {
            let range = (Bound::Excluded(rows.compacted), Bound::Included(trim));
            let dropped = rows.changes.range(range).map(|(_, row)| (row.revision, row.kind, row.previous));
            let removed: Vec<Revision> = removed_by_trim(dropped).collect();
            for revision in removed {
                rows.bytes -= rows.changes.remove(&revision).as_ref().map_or(0, bytes);
            }
            rows.compacted = trim;
        }
        Ok(())
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        let rows = self.0.lock();
        Ok(revisions.iter().filter_map(|revision| rows.changes.get(revision).cloned()).collect())
    }

    fn size(&self) -> Size {
        let rows = self.0.lock().bytes;
        Size { rows, file: 0 }
    }

    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn blocking(&self) -> bool {
        false
    }
}
