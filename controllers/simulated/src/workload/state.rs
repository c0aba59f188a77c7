//! Saves the state of a workload cluster as compressed text: every object with its UID and revisions.
//! Certificates are not included, since machines get theirs from the Cluster's Secrets when they start.
//!
//! Invariant: state is saved only while the cluster refuses writes, so that no acknowledged write is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use machinery::status::Status;
use parking_lot::Mutex;
use registry::{Admission, Review};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use store::{Batch, Change, ChangeKind, Engine, EngineError, Key, Loaded, Memory, Revision};

/// Saved state must not decompress to more than this many bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

/// The rows of a workload cluster. While they are held, writes are refused.
#[derive(Clone, Default)]
pub struct Rows {
    memory: Memory,
    /// Locked during each write, so that no write is in progress once the rows are held.
    held: Arc<Mutex<bool>>,
}

#[derive(Serialize, Deserialize)]
struct Text {
    revision: u64,
    rows: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    key: String,
    revision: u64,
    created: u64,
    object: Box<RawValue>,
}

impl Rows {
    /// Reads the rows from saved state.
    ///
    /// # Errors
    /// Says in words why `text` is not the result of [`Rows::hold`].
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let mut content = String::new();
        let mut decoder = GzDecoder::new(text).take(LARGEST);
        decoder.read_to_string(&mut content).map_err(|error| format!("it cannot be unpacked: {error}"))?;
        let content: Text =
            serde_json::from_str(&content).map_err(|error| format!("it is no state: {error}"))?;
        let mut changes = Vec::with_capacity(content.rows.len());
        for row in content.rows {
            changes.push(Change {
                revision: Revision(row.revision),
                kind: ChangeKind::Put,
                key: Key::parse(&row.key).map_err(|error| error.to_string())?,
                value: row.object.get().to_owned().into(),
                create_revision: Revision(row.created),
                previous: Revision::NONE,
                time: 0,
            });
        }
        changes.sort_by_key(|change| change.revision);
        let revision = Revision(content.revision);
        let rows = Self::default();
        // The history is not saved, so earlier watches must start again with a list.
        let batch = Batch { changes, revision, trim: Some(revision), ..Batch::default() };
        rows.memory.commit(&batch).map_err(|error| error.to_string())?;
        Ok(rows)
    }

    /// Refuses writes from now on, and returns the state as compressed text.
    ///
    /// # Errors
    /// Says in words that a row is not JSON.
    pub fn hold(&self) -> Result<Vec<u8>, String> {
        *self.held.lock() = true;
        let loaded = self.memory.load().map_err(|error| error.to_string())?;
        let mut current: BTreeMap<Key, Change> = BTreeMap::new();
        for change in loaded.changes {
            match change.kind {
                ChangeKind::Put => drop(current.insert(change.key.clone(), change)),
                ChangeKind::Delete => drop(current.remove(&change.key)),
            }
        }
        let row = |change: &Change| {
            let text = String::from_utf8_lossy(&change.value).into_owned();
            Ok(Row {
                key: change.key.as_str().to_owned(),
                revision: change.revision.0,
                created: change.create_revision.0,
                object: RawValue::from_string(text)?,
            })
        };
        let rows: Result<Vec<Row>, serde_json::Error> = current.values().map(row).collect();
        let text = Text { revision: loaded.revision.0, rows: rows.map_err(|error| error.to_string())? };
        let text = serde_json::to_vec(&text).map_err(|error| error.to_string())?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).and_then(|()| encoder.finish()).map_err(|error| error.to_string())
    }

    /// Accepts writes again.
    pub fn release(&self) {
        *self.held.lock() = false;
    }

    /// Returns whether writes are refused.
    pub fn is_held(&self) -> bool {
        *self.held.lock()
    }
}

impl Engine for Rows {
    fn load(&self) -> Result<Loaded, EngineError> {
        self.memory.load()
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let held = self.held.lock();
        if *held {
            // Admission already refuses such writes with a better message; this catches those that passed it
            // before the rows were held.
            return Err(EngineError::Full { file: "a cluster that moves to another server".to_owned() });
        }
        self.memory.commit(batch)
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        self.memory.read(revisions)
    }

    fn name(&self) -> String {
        self.memory.name()
    }

    fn blocking(&self) -> bool {
        false
    }
}

impl Admission for Rows {
    fn mutate(&self, _: &Review<'_>, _: &mut serde_json::Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        _: &serde_json::Value,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        if review.dry_run || !self.is_held() {
            return Ok(());
        }
        let message = "the cluster moves to another management cluster and accepts no writes until the move is complete, please try again later";
        let mut status = Status::new(503, "ServiceUnavailable", message);
        status.details = Some(json!({"retryAfterSeconds": 1}));
        Err(status)
    }
}
