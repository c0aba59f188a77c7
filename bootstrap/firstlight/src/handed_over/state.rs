//! The state of the pivot of a data directory, for `status`.

use std::fmt;
use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use server::backup::JOURNAL;

use super::{recorded, target};

/// How far a pivot has got that is not complete, or that has handed clusters over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// A process works on it.
    UnderWay,
    /// It was interrupted before the target took over.
    Interrupted,
    /// It was interrupted after the target took over, so that it cannot be undone.
    InterruptedLate,
    /// It was interrupted while it was undone.
    InterruptedUndo,
    /// It is complete.
    HandedOver,
}

/// The state of the pivot of a data directory, for `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PivotState {
    target: String,
    /// The namespace that is handed over; empty for all namespaces.
    namespace: String,
    progress: Progress,
    directory: PathBuf,
}

impl PivotState {
    /// Returns the state for scripts.
    pub fn report(&self) -> Value {
        let state = match self.progress {
            Progress::UnderWay => "UnderWay",
            Progress::Interrupted | Progress::InterruptedLate | Progress::InterruptedUndo => "Interrupted",
            Progress::HandedOver => "HandedOver",
        };
        json!({"target": self.target, "namespace": self.namespace, "state": state, "message": self.to_string()})
    }
}

impl fmt::Display for PivotState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, namespace, progress, directory } = self;
        let what = match namespace.as_str() {
            "" => "the clusters".to_owned(),
            namespace => format!("the clusters of namespace {namespace}"),
        };
        let again = |flag: &str| format!("`firstlight pivot {flag} --to-kubeconfig TARGET`");
        match progress {
            Progress::UnderWay => write!(f, "{what} are being handed over to {target}"),
            Progress::Interrupted => write!(
                f,
                "the hand-over of {what} to {target} was interrupted, and they are paused; finish it with {}, or undo it with {}",
                again("--resume"),
                again("--roll-back")
            ),
            Progress::InterruptedLate => write!(
                f,
                "the hand-over of {what} to {target} was interrupted after the target took over; finish it with {}",
                again("--resume")
            ),
            Progress::InterruptedUndo => write!(
                f,
                "the hand-over of {what} to {target} was interrupted while it was undone; finish this with {}",
                again("--roll-back")
            ),
            Progress::HandedOver => write!(
                f,
                "{what} were handed over to {target}; apply changes there. To bring them back, start this server with --start-afresh, and run \
                 `firstlight pivot --kubeconfig TARGET --to-kubeconfig {}/kubeconfig`",
                directory.display()
            ),
        }
    }
}

/// Returns the state of the pivot of a data directory; `None` if there was none, or if it was undone.
///
/// # Errors
/// The journal cannot be read.
pub fn state(directory: &Path) -> Result<Option<PivotState>> {
    let journal = directory.join(JOURNAL);
    let Some((header, state)) = recorded(&journal)?.filter(|(_, state)| !state.rolled_back) else {
        return Ok(None);
    };
    let progress = if state.done {
        Progress::HandedOver
    } else if is_locked(&journal) {
        Progress::UnderWay
    } else if state.rolling_back {
        Progress::InterruptedUndo
    } else if state.handed_over {
        Progress::InterruptedLate
    } else {
        Progress::Interrupted
    };
    let directory = std::path::absolute(directory).context("the current directory cannot be found")?;
    Ok(Some(PivotState { target: target(&header), namespace: header.namespace, progress, directory }))
}

/// Returns whether a pivot has the journal open.
fn is_locked(journal: &Path) -> bool {
    let tried = std::fs::File::open(journal).map(|file| file.try_lock());
    matches!(tried, Ok(Err(TryLockError::WouldBlock)))
}
