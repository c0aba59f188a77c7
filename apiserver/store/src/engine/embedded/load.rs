//! Reads the engine: all rows at the start, on all cores, and single rows later.

use std::collections::{BTreeSet, HashSet};
use std::panic::resume_unwind;

use redb::{ReadableDatabase, ReadableTable};

use super::tables::{CHANGES, Meta, Open, room};
use crate::change::{Change, ChangeKind};
use crate::engine::{Loaded, row};
use crate::revision::Revision;

/// Minimum number of rows for each thread.
const SHARE: u64 = 10_000;

/// Reads all rows, but only the values of current objects. Returns the size of all rows in bytes, too.
pub(super) fn load(open: &Open) -> Result<(Loaded, u64), redb::Error> {
    let Meta { format, revision, compacted, rows } = open.meta;
    let first =
        open.database.begin_read()?.open_table(CHANGES)?.first()?.map_or(0, |(first, _)| first.value());
    // The last range is unbounded, so that rows after the newest revision, which are damage, are found.
    let span = revision.0.saturating_sub(first);
    let starts: Vec<u64> = (first..=revision.0.max(first)).step_by(share(span)).collect();
    let ends = starts.iter().skip(1).copied().map(Some).chain([None]);
    let ranges = starts.iter().copied().zip(ends).collect();
    let parts = on_all_cores(ranges, |range| read_numbers(open, range))?;
    let (parts, bytes): (Vec<_>, Vec<u64>) = parts.into_iter().unzip();
    let mut changes = parts.concat();
    if changes.len() as u64 != rows {
        return Err(redb::Error::Corrupted(format!("found {} of {rows} rows", changes.len())));
    }
    let replaced: HashSet<Revision> = changes.iter().map(|change| change.previous).collect();
    let current =
        |change: &&mut Change| change.kind == ChangeKind::Put && !replaced.contains(&change.revision);
    let mut current: Vec<&mut Change> = changes.iter_mut().filter(current).collect();
    let size = share(current.len() as u64);
    let shares = current.chunks_mut(size).collect();
    on_all_cores(shares, |share| read_values(open, share))?;
    let loaded = Loaded { revision, compacted, changes, format, row_bytes: 0 };
    Ok((loaded, bytes.iter().sum()))
}

/// Returns how many of `count` items each core gets.
fn share(count: u64) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    usize::try_from((count / cores).max(SHARE)).unwrap_or(usize::MAX)
}

/// Processes the parts concurrently and returns the results in order.
fn on_all_cores<P: Send, T: Send>(
    mut parts: Vec<P>,
    work: impl Fn(P) -> Result<T, redb::Error> + Sync,
) -> Result<Vec<T>, redb::Error> {
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return Ok(vec![work(part)?]);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| work(part))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Reads and checks the rows in a range of revisions (`to` excluded) without their values. Returns their size, too.
fn read_numbers(open: &Open, (from, to): (u64, Option<u64>)) -> Result<(Vec<Change>, u64), redb::Error> {
    let table = open.database.begin_read()?.open_table(CHANGES)?;
    let rows = match to {
        Some(to) => table.range(from..to)?,
        None => table.range(from..)?,
    };
    let (mut changes, mut bytes) = (Vec::new(), 0);
    for entry in rows {
        let (revision, row) = entry?;
        bytes += room(row.value().len());
        let change = row::decode_without_value(Revision(revision.value()), row.value());
        changes.push(change.map_err(redb::Error::Corrupted)?);
    }
    Ok((changes, bytes))
}

fn read_values(open: &Open, changes: &mut [&mut Change]) -> Result<(), redb::Error> {
    let table = open.database.begin_read()?.open_table(CHANGES)?;
    for change in changes {
        let Some(row) = table.get(change.revision.0)? else {
            return Err(redb::Error::Corrupted(format!(
                "the row of revision {} is missing",
                change.revision
            )));
        };
        change.value = row::decode(change.revision, row.value()).map_err(redb::Error::Corrupted)?.value;
    }
    Ok(())
}

/// Returns the rows of these revisions that exist.
pub(super) fn read(open: &Open, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, redb::Error> {
    let table = open.database.begin_read()?.open_table(CHANGES)?;
    let mut changes = Vec::with_capacity(revisions.len());
    for revision in revisions {
        if let Some(row) = table.get(revision.0)? {
            changes.push(row::decode(*revision, row.value()).map_err(redb::Error::Corrupted)?);
        }
    }
    Ok(changes)
}
