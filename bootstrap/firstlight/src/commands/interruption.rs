//! What a pivot leaves behind when a signal ends it: which objects are paused, and how to go on.

use std::path::Path;

use anyhow::Result;
use pivot::journal::{Before, State};
use serde_json::Value;

use crate::handed_over::recorded;
use crate::output::tell;
use crate::signals::{Interrupted, Signals};

/// The most objects that are named.
const NAMED: usize = 10;

/// Runs a pivot until it ends or a signal does, and then tells what it has left behind.
///
/// # Errors
/// The errors of the pivot, or [`Interrupted`].
pub async fn until<T>(journal: &Path, pivot: impl Future<Output = Result<T>>) -> Result<T> {
    let mut signals = Signals::catch()?;
    let signal = tokio::select! {
        biased;
        outcome = pivot => return outcome,
        signal = signals.next() => signal,
    };
    if let Some(text) = recorded(journal)?.and_then(|(_, state)| left_behind(&state)) {
        tell(&text);
    }
    Err(Interrupted(signal).into())
}

/// Returns what an interrupted pivot has left behind; `None` if that is nothing.
pub fn left_behind(state: &State) -> Option<String> {
    let header = state.header.as_ref().filter(|_| !state.ended())?;
    if state.handed_over {
        return Some(
            "Interrupted after the target took over: finish it with the same command and --resume.".into(),
        );
    }
    let paused = |before: &Before| before.paused != Value::Bool(true) && !before.paused.is_string();
    let names = state.before.values().filter(|before| paused(before)).map(|before| before.object.to_string());
    let names: Vec<String> = names.collect();
    let others = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let what = match names.as_slice() {
        [] => "Nothing is paused at the source.".to_owned(),
        names => {
            let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("Paused at the source, so that nobody reconciles them: {named}{others}.")
        }
    };
    let saves = header.target.starts_with("directory ");
    let how = if state.rolling_back || saves {
        "Undo it with the same command and --roll-back"
    } else {
        "Finish it with the same command and --resume, or undo it with --roll-back"
    };
    Some(format!("Interrupted. {what}\n{how}."))
}
