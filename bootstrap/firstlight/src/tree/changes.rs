//! The tree as lines for logs and pipes: a line for each object and phase. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use super::model::{Entry, State};
use super::render::seconds;
use super::words::{Sentence, sentences};

/// An object that stays in a phase for this time says what it waits for; again after twice the time, and so on.
const LONG: Duration = Duration::from_secs(30);

/// What was printed of each object.
#[derive(Default)]
pub struct Changes {
    printed: BTreeMap<String, Printed>,
}

struct Printed {
    phase: String,
    /// When the phase was seen first.
    since: Duration,
    /// When the object says what it waits for.
    due: Duration,
}

impl Changes {
    /// Returns the lines about phases that have changed since the last call, at the time `now` since the start.
    pub fn phases(&mut self, entries: &[Entry], now: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let phase = phase(entry);
            let key = terminal::line(&entry.key).into_owned();
            match self.printed.get_mut(&entry.key) {
                Some(last) if last.phase == phase => {
                    if phase != READY && now >= last.due && !entry.causes.is_empty() {
                        last.due = now + (last.due - last.since) * 2;
                        let causes: Vec<String> =
                            sentences(entries, index, None).iter().map(Sentence::text).collect();
                        let causes = terminal::line(&causes.join("; ")).into_owned();
                        lines.push(format!(
                            "{key}: still {phase} after {}: {causes}",
                            seconds(now - last.since)
                        ));
                    }
                }
                // The progress of a Machine from one phase to the next, but not that it is not ready for a moment.
                Some(last) => {
                    lines.push(format!("{key}: {} → {phase}, {}", last.phase, seconds(now - last.since)));
                    *last = Printed { phase, since: now, due: now + LONG };
                }
                None => {
                    lines.push(format!("{key}: {phase}"));
                    self.printed.insert(entry.key.clone(), Printed { phase, since: now, due: now + LONG });
                }
            }
        }
        let is_gone = |key: &String| !entries.iter().any(|entry| entry.key == *key);
        let gone: Vec<String> = self.printed.keys().filter(|key| is_gone(key)).cloned().collect();
        for key in gone {
            self.printed.remove(&key);
            lines.push(format!("{}: gone", terminal::line(&key)));
        }
        lines
    }
}

const READY: &str = "ready";

/// Returns the phase of an object: that of a Cluster or Machine until it is ready.
fn phase(entry: &Entry) -> String {
    let word = match entry.state {
        State::Good | State::Folded(_) => READY,
        State::Deleting => "deleting",
        State::Waiting => {
            let phase = entry.summary.split([' ', ',']).next().unwrap_or_default();
            let is_phase = phase.starts_with(|c: char| c.is_ascii_uppercase());
            // A Machine runs before all of it is ready, and a Cluster is Available before its last machine.
            return if is_phase { terminal::line(phase).into_owned() } else { "waiting".to_owned() };
        }
    };
    word.to_owned()
}

/// Returns all changes since the last call, with all causes: for those who want every detail.
pub fn every(before: &mut BTreeMap<String, String>, entries: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = BTreeMap::new();
    for entry in entries {
        let text = described(entry);
        if before.get(&entry.key) != Some(&text) {
            lines.push(terminal::line(&format!("{}: {text}", entry.key)).into_owned());
        }
        current.insert(entry.key.clone(), text);
    }
    let gone = before.keys().filter(|key| !current.contains_key(*key));
    lines.extend(gone.map(|key| format!("{}: gone", terminal::line(key))));
    *before = current;
    lines
}

fn described(entry: &Entry) -> String {
    let state = match entry.state {
        State::Good | State::Folded(_) => READY,
        State::Waiting => "waiting",
        State::Deleting => "deleting",
    };
    let mut text =
        if entry.summary.is_empty() { state.to_owned() } else { format!("{state}, {}", entry.summary) };
    if !entry.causes.is_empty() {
        text.push_str(": ");
        text.push_str(&entry.causes.join("; "));
    }
    text
}
