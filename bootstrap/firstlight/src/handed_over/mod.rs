//! Refuses work on clusters that have been handed over: they belong to the target now, and must not be reconciled or created here
//! again.

mod state;

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};
use pivot::Journal;
use pivot::journal::{FileDisk, Header, MemoryDisk, State};
use server::backup::JOURNAL;
use server::data_directory::DataDirectory;
use server::options::ServerOptions;

pub use state::{PivotState, state};

/// The file of a data directory with the kubeconfig of the cluster into which everything was moved, which the source no longer has.
pub const TARGET: &str = "pivot-target.kubeconfig";

/// The data in the journal of a pivot that has handed over.
struct HandedOver {
    /// The name of the target, or its identity if an earlier version wrote the journal.
    target: String,
    /// The namespace that was handed over; empty for all namespaces.
    namespace: String,
    /// Whether the pivot is complete.
    done: bool,
}

/// Reads the state of the journal without changing it; `None` if no pivot is recorded.
pub(crate) fn recorded(journal: &Path) -> Result<Option<(Header, State)>> {
    let content = match std::fs::read(journal) {
        Ok(content) => content,
        // A path that cannot be a directory is refused later, when the directory is created.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", journal.display())),
    };
    let opened = Journal::open(Box::new(MemoryDisk::holding(content)));
    let opened = opened.with_context(|| {
        format!(
            "{} is damaged, so nobody knows whether these clusters were handed over; restore it from a backup, or if they were not, remove it",
            journal.display()
        )
    })?;
    let state = opened.state().clone();
    Ok(state.header.clone().map(|header| (header, state)))
}

fn read(journal: &Path) -> Result<Option<HandedOver>> {
    let Some((header, state)) = recorded(journal)?.filter(|(_, state)| state.handed_over) else {
        return Ok(None);
    };
    Ok(Some(HandedOver { target: target(&header), namespace: header.namespace, done: state.done }))
}

/// Returns the name of the target for messages.
fn target(header: &Header) -> String {
    if header.target_name.is_empty() {
        format!("the cluster whose namespace kube-system has UID {}", header.target)
    } else {
        header.target_name.clone()
    }
}

/// Fails if the journal says that everything has been handed over.
///
/// # Errors
/// The clusters have been handed over (the message names the target), or the journal cannot be read.
pub fn refuse(journal: &Path) -> Result<()> {
    let Some(HandedOver { target, namespace, done: true }) = read(journal)? else { return Ok(()) };
    if !namespace.is_empty() {
        return Ok(());
    }
    let directory = journal.parent().unwrap_or(Path::new("."));
    bail!(
        "the clusters of {directory} were handed over to {target}, which has them now: here they would be made a second time. \
         Apply changes there. To look at what is left here, say --controllers none. To bring them back, to begin with other clusters, or where they \
         have come back already, say --start-afresh (the journal is set aside); what is at {target} comes back with \
         `firstlight pivot --kubeconfig TARGET --to-kubeconfig {directory}/kubeconfig`",
        directory = directory.display()
    );
}

/// Fails if a kubeconfig is that of a server whose clusters have been handed over. The one of the target, [`TARGET`], lies beside it.
///
/// # Errors
/// The errors of [`refuse`].
pub fn refuse_source(kubeconfig: &Path) -> Result<()> {
    match (kubeconfig.parent(), kubeconfig.file_name()) {
        (Some(directory), Some(name)) if name != TARGET => refuse(&directory.join(JOURNAL)),
        _ => Ok(()),
    }
}

/// Checks the journal before a server starts; with `--start-afresh` the journal is set aside.
///
/// # Errors
/// The errors of [`refuse`], if the server would run controllers.
pub fn before_start(options: &ServerOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let journal = directory.path().join(JOURNAL);
    if options.start_afresh {
        return set_aside(&journal);
    }
    if options.controllers.is_none() { Ok(()) } else { refuse(&journal) }
}

/// Checks the journal before manifests are applied, so that clusters that have been handed over are not created again.
///
/// # Errors
/// The errors of [`refuse`]; also if a pivot is not complete, or if one of the `namespaces` was handed over.
pub fn before_apply<'a>(directory: &Path, mut namespaces: impl Iterator<Item = &'a str>) -> Result<()> {
    let journal = directory.join(JOURNAL);
    let Some(HandedOver { target, namespace, done }) = read(&journal)? else { return Ok(()) };
    if !namespace.is_empty() && !namespaces.any(|found| found == namespace) {
        return Ok(());
    }
    if !done {
        bail!(
            "a pivot to {target} was interrupted after the hand-over: finish it with `firstlight serve` and `firstlight pivot --resume`; nothing was applied"
        );
    }
    if namespace.is_empty() {
        return refuse(&journal);
    }
    bail!(
        "namespace {namespace} was handed over to {target}; apply changes to it there, or say --start-afresh"
    );
}

/// Keeps the record of what was handed over under another name, so that it refuses nothing.
///
/// # Errors
/// The record cannot be read or renamed.
pub fn set_aside(journal: &Path) -> Result<()> {
    let Some(handed_over) = read(journal)? else { return Ok(()) };
    if !handed_over.done {
        bail!(
            "a pivot to {} was interrupted after the hand-over: finish it with `firstlight serve` and `firstlight pivot --resume` first",
            handed_over.target
        );
    }
    let failed = || format!("cannot set {} aside", journal.display());
    let mut opened = Journal::open(Box::new(FileDisk::open(journal).with_context(failed)?))?;
    Ok(opened.set_aside()?)
}
