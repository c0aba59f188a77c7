//! The tables of the redb file, and the write of a batch to them.

use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::backend::Trouble;
use crate::engine::row::{self, FORMAT};
use crate::engine::{Batch, removed_by_trim};
use crate::limits::EMBEDDED_CACHE_BYTES;
use crate::revision::Revision;

pub(super) const CHANGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("changes");
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(super) const META_FORMAT: &str = "format";
pub(super) const META_REVISION: &str = "revision";
pub(super) const META_COMPACTED: &str = "compacted";
/// The number of rows. Without it, a lost page would mean a silently lost object.
pub(super) const META_ROWS: &str = "rows";

/// An open file and the content of its `meta` table.
pub(super) struct Open {
    pub(super) database: Database,
    pub(super) trouble: Arc<Trouble>,
    pub(super) meta: Meta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) format: u64,
    pub(super) revision: Revision,
    pub(super) compacted: Revision,
    pub(super) rows: u64,
}

pub(super) fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(EMBEDDED_CACHE_BYTES);
    builder
}

/// Returns the size of a row in the file in bytes. A long row has its own pages, in a power of two.
pub(super) fn room(row: usize) -> u64 {
    let entry = row as u64 + 16;
    if entry <= 1024 { entry * 4 / 3 } else { (entry + 32).next_power_of_two().max(4096) }
}

pub(super) fn read_meta(database: &Database) -> Result<Meta, redb::Error> {
    let meta = database.begin_read()?.open_table(META)?;
    let number = |name: &str| match meta.get(name)? {
        Some(number) => Ok(number.value()),
        None => Err(redb::Error::Corrupted(format!("{name} is missing"))),
    };
    Ok(Meta {
        format: number(META_FORMAT)?,
        revision: Revision(number(META_REVISION)?),
        compacted: Revision(number(META_COMPACTED)?),
        rows: number(META_ROWS)?,
    })
}

/// Writes a batch. Returns the new numbers, the added and the freed size.
pub(super) fn write(open: &Open, batch: &Batch) -> Result<(Meta, u64, u64), redb::Error> {
    let (mut taken, mut given) = (0, 0);
    let mut meta = Meta { format: FORMAT, revision: batch.revision, ..open.meta };
    let mut transaction = open.database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction.set_quick_repair(batch.quiet);
    {
        let mut changes = transaction.open_table(CHANGES)?;
        for change in &batch.changes {
            let row = row::encode(change);
            taken += room(row.len());
            changes.insert(change.revision.0, row.as_slice())?;
        }
        meta.rows += batch.changes.len() as u64;
        if let Some(trim) = batch.trim.filter(|trim| *trim > meta.compacted) {
            let mut dropped = Vec::new();
            for entry in changes.range(meta.compacted.0 + 1..=trim.0)? {
                let (revision, row) = entry?;
                let revision = Revision(revision.value());
                let (kind, previous) =
                    row::decode_links(revision, row.value()).map_err(redb::Error::Corrupted)?;
                dropped.push((revision, kind, previous));
            }
            for revision in removed_by_trim(dropped.into_iter()) {
                if let Some(row) = changes.remove(revision.0)? {
                    given += room(row.value().len());
                    meta.rows -= 1;
                }
            }
            meta.compacted = trim;
        }
        let mut numbers = transaction.open_table(META)?;
        if open.meta.format != meta.format {
            numbers.insert(META_FORMAT, meta.format)?;
        }
        numbers.insert(META_REVISION, meta.revision.0)?;
        numbers.insert(META_COMPACTED, meta.compacted.0)?;
        numbers.insert(META_ROWS, meta.rows)?;
    }
    transaction.commit()?;
    Ok((meta, taken, given))
}
