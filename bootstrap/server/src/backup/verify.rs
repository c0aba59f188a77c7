//! Verifies backups and data directories.

use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use machinery::clock::Clock;
use store::{Revision, Verified};

use super::files;
use super::format::Header;
use super::read::Reader;
use super::running;
use super::take::{Opened, open};
use crate::data_directory::DataDirectory;

/// Reads a backup to its end; `-` is standard input.
///
/// # Errors
/// The backup is damaged or truncated, or is not a backup.
pub fn verify_file(file: &Path) -> Result<Header> {
    read_to_end(opened(file)?, &name(file))
}

/// Opens a backup to read it once; `-` is standard input. It may be a pipe: shells hand over the output of a command as one.
///
/// # Errors
/// It cannot be opened, or is a folder.
pub(super) fn opened(file: &Path) -> Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let cannot = || format!("cannot read {}", file.display());
    let opened = std::fs::File::open(file).with_context(cannot)?;
    if opened.metadata().with_context(cannot)?.is_dir() {
        bail!("{} is a folder and no backup; a data directory is named with --data-dir", file.display());
    }
    Ok(Box::new(opened))
}

/// Returns the name of a backup for error messages.
pub(super) fn name(file: &Path) -> String {
    if file == Path::new("-") {
        "the backup on standard input".to_owned()
    } else {
        file.display().to_string()
    }
}

/// Reads a backup to its end; `name` is its name in error messages.
pub(super) fn read_to_end(source: impl Read, name: &str) -> Result<Header> {
    let read = || {
        let mut reader = Reader::open(BufReader::with_capacity(1 << 20, source))?;
        let header = reader.header().clone();
        while reader.next()?.is_some() {}
        anyhow::Ok(header)
    };
    read().with_context(|| format!("{name} is damaged and cannot be restored; use another backup"))
}

/// Reads and checks the whole store of a data directory, and its keys. A running server checks its own store.
///
/// # Errors
/// The damage that was found, and its place.
pub async fn verify_directory(directory: &DataDirectory, clock: &Clock) -> Result<Verified> {
    let opened = open(directory, clock).await?;
    files::check(directory.path(), &files::read(directory)?)?;
    match opened {
        Opened::Stopped(store) => Ok(store.verify().await?),
        Opened::Running(client) => {
            let found = running::verify(&client).await?;
            let number = |field: &str| found[field].as_u64().context("the server's answer lacks a number");
            Ok(Verified {
                revision: Revision(number("revision")?),
                objects: usize::try_from(number("objects")?)?,
                rows: usize::try_from(number("rows")?)?,
            })
        }
    }
}
