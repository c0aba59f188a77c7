//! Takes a backup of a running server, or of a directory that no process has open.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use store::{EngineError, EngineKind, Page, Prefix, Store, Stored};

use super::destination::Destination;
use super::files;
use super::format::{Encoder, Header};
use super::read::{Reader, Record};
use super::running::{Fetched, fetch};
use crate::connection;
use crate::data_directory::DataDirectory;

/// The store of a data directory: that of a running server, or one that this process has opened, and locked.
pub(super) enum Opened {
    Running(kube::Client),
    Stopped(Store),
}

/// Opens the store of an existing data directory.
pub(super) async fn open(directory: &DataDirectory, clock: &Clock) -> Result<Opened> {
    let path = directory.path();
    directory.check_access()?;
    ensure!(
        path.join("lock").exists(),
        "{} is no data directory of firstlight; name the right one with --data-dir",
        path.display()
    );
    let lock = match store::DataDirectory::open(path) {
        Ok(lock) => lock,
        Err(in_use @ EngineError::InUse { .. }) => {
            let Some(running) = directory.running()? else {
                bail!("{in_use}; or wait until it serves");
            };
            return Ok(Opened::Running(connection::client(&running.kubeconfig).await?));
        }
        Err(error) => return Err(error.into()),
    };
    let kind = EngineKind::of(path).with_context(|| {
        format!(
            "{} holds no store: its server kept everything in memory, or was never started",
            path.display()
        )
    })?;
    let engine = tokio::task::spawn_blocking(move || kind.open(&lock)).await??;
    Ok(Opened::Stopped(Store::open_engine(engine, clock.clone(), kind.limits()).await?))
}

/// Writes a backup of a data directory to `file`; `-` is standard output.
///
/// # Errors
/// There is no data directory, the store is damaged, the server does not answer, or a write fails. No file is left then.
pub async fn take(directory: &DataDirectory, file: &Path, clock: &Clock) -> Result<Header> {
    let destination = Destination::open(file)?;
    match open(directory, clock).await? {
        Opened::Stopped(store) => {
            let files = files::read(directory)?;
            let snapshot = store.list(&Prefix::all(), &Page::default());
            let header = Header::of(&snapshot, clock);
            let objects = snapshot.items.into_iter().map(Ok);
            let written = tokio::task::spawn_blocking(move || write(destination, header, &files, objects));
            written.await?
        }
        Opened::Running(client) => {
            let moment = || async { fetch(&client).await };
            let (fetched, files) = files::at_moment(directory, moment).await?;
            tokio::task::spawn_blocking(move || write_fetched(destination, fetched, &files)).await?
        }
    }
}

fn write_fetched(destination: Destination, fetched: Fetched, files: &[(String, Vec<u8>)]) -> Result<Header> {
    let broke_off = || "the server's answer cannot be used; back up again".to_owned();
    let mut reader = Reader::open(fetched).with_context(broke_off)?;
    let header = reader.header().clone();
    let objects = std::iter::from_fn(|| match reader.next().with_context(broke_off) {
        Ok(Some(Record::Object(object))) => Some(Ok(Arc::new(object))),
        Ok(Some(Record::File(..))) => Some(Err(anyhow::anyhow!("the server sent a file"))),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    });
    write(destination, header, files, objects)
}

fn write(
    mut destination: Destination,
    header: Header,
    files: &[(String, Vec<u8>)],
    objects: impl Iterator<Item = Result<Arc<Stored>>>,
) -> Result<Header> {
    let (mut encoder, begin) = Encoder::begin(&header)?;
    destination.write(&begin)?;
    for (name, content) in files {
        destination.write(&encoder.file(name, content))?;
    }
    for object in objects {
        destination.write(&encoder.object(&*object?))?;
    }
    destination.write(&encoder.end())?;
    destination.finish()?;
    Ok(header)
}
