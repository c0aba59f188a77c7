//! Renders the tree as text: redrawn in place on a terminal, otherwise as lines with changes. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::model::{Entry, State};

/// Returns the whole tree, with a line of at most `width` columns for each entry. `colour` adds ANSI colours.
pub fn tree(entries: &[Entry], now: DateTime<Utc>, width: usize, colour: bool) -> Vec<String> {
    let lines = entries.iter().enumerate().map(|(index, entry)| {
        let line = fitted(entry, &branch(entries, index), now, width.max(WIDTH_MIN));
        if colour { painted(&line, entry.state) } else { line }
    });
    lines.collect()
}

/// Returns the changes since the last call, with a line for each object, for logs and pipes.
pub fn changes(before: &mut BTreeMap<String, String>, entries: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = BTreeMap::new();
    for entry in entries {
        let text = described(entry);
        if before.get(&entry.key) != Some(&text) {
            lines.push(format!("{}: {text}", entry.key));
        }
        current.insert(entry.key.clone(), text);
    }
    lines.extend(before.keys().filter(|key| !current.contains_key(*key)).map(|key| format!("{key}: gone")));
    *before = current;
    lines
}

fn described(entry: &Entry) -> String {
    let state = match entry.state {
        State::Good | State::Folded(_) => "ready",
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

/// Narrower terminals get lines of this width, which they cut.
const WIDTH_MIN: usize = 20;

/// Returns the line of an entry. If it is too long, it loses first the other causes, then the summary but for its first word, then the
/// kind; the rest of the first cause is cut at the end, because it begins with its condition.
fn fitted(entry: &Entry, branch: &str, now: DateTime<Utc>, width: usize) -> String {
    let start = format!("{branch}{} ", mark(entry.state));
    let name = entry.label.split_once(' ').map_or(entry.label.as_str(), |(_, name)| name);
    let summary = if entry.summary.is_empty() { String::new() } else { format!("  {}", entry.summary) };
    let state = entry.summary.split(' ').next().filter(|state| !state.is_empty());
    let state = state.map(|state| format!("  {state}")).unwrap_or_default();
    let age = match (entry.state, entry.since) {
        (State::Waiting | State::Deleting, Some(since)) => format!("  {}", age(now - since)),
        _ => String::new(),
    };
    let Some(cause) = entry.causes.first() else {
        return cut(&format!("{start}{}{summary}{age}", entry.label), width);
    };
    let others = entry.causes.len() - 1;
    let first = if others == 0 { cause.clone() } else { format!("{cause} (+{others})") };
    let all = entry.causes.join("; ");
    [
        format!("{start}{}{summary}{age}  waiting for: {all}", entry.label),
        format!("{start}{}{summary}{age}  waiting for: {first}", entry.label),
        format!("{start}{}{state}{age}  {first}", entry.label),
        format!("{start}{name}{state}{age}  {first}"),
    ]
    .into_iter()
    .find(|line| line.width() <= width)
    .unwrap_or_else(|| cut(&format!("{start}{name}{state}{age}  {cause}"), width))
}

/// Cuts a line after `width` columns; `…` stands for the rest.
fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut columns = 1;
    let fits = |c: &char| {
        columns += c.width().unwrap_or(0);
        columns <= width
    };
    line.chars().take_while(fits).chain(['…']).collect()
}

fn mark(state: State) -> char {
    match state {
        State::Good => '✓',
        State::Waiting | State::Folded(_) => '…',
        State::Deleting => '✗',
    }
}

/// Returns the lines that lead to an entry, for example `│  ├─ `.
fn branch(entries: &[Entry], index: usize) -> String {
    let depth = entries[index].depth;
    let continues = |level: usize| {
        let later = entries[index + 1..].iter().find(|entry| entry.depth <= level);
        later.is_some_and(|entry| entry.depth == level)
    };
    (1..=depth)
        .map(|level| match (level == depth, continues(level)) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        })
        .collect()
}

fn painted(text: &str, state: State) -> String {
    let colour = match state {
        State::Good => "32",
        State::Waiting => "33",
        State::Deleting => "35",
        State::Folded(_) => "2",
    };
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

/// Returns a duration in a form like `42s`, `3m12s`, `5h0m`.
fn age(duration: chrono::Duration) -> String {
    let seconds = duration.num_seconds().max(0);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=3599 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: usize, name: &str, state: State, waiting_for: &str) -> Entry {
        Entry {
            depth,
            key: format!("Kind default/{name}"),
            label: format!("Kind {name}"),
            state,
            summary: String::new(),
            causes: waiting_for.split_terminator("; ").map(str::to_owned).collect(),
            since: Some(DateTime::UNIX_EPOCH),
        }
    }

    #[test]
    fn branches_join() {
        let entries = [
            entry(0, "a", State::Waiting, "b"),
            entry(1, "b", State::Good, ""),
            entry(2, "c", State::Good, ""),
            entry(1, "d", State::Deleting, "x"),
            entry(2, "e", State::Good, ""),
        ];
        let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(125);
        let expected = [
            "… Kind a  2m5s  waiting for: b",
            "├─ ✓ Kind b",
            "│  └─ ✓ Kind c",
            "└─ ✗ Kind d  2m5s  waiting for: x",
            "   └─ ✓ Kind e",
        ];
        assert_eq!(tree(&entries, now, 200, false), expected);
    }

    #[test]
    fn the_first_cause_is_shown_at_every_width() {
        let mut entry = entry(
            1,
            "first-control-plane-79z9t",
            State::Waiting,
            "InfrastructureReady: VMProvisioned: no quota; NodeHealthy: no node",
        );
        entry.summary = "Provisioning v1.35.0".to_owned();
        let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(12);
        let lines = [
            (
                160,
                "└─ … Kind first-control-plane-79z9t  Provisioning v1.35.0  12s  waiting for: InfrastructureReady: VMProvisioned: no quota; NodeHealthy: no node",
            ),
            (
                140,
                "└─ … Kind first-control-plane-79z9t  Provisioning v1.35.0  12s  waiting for: InfrastructureReady: VMProvisioned: no quota (+1)",
            ),
            (
                105,
                "└─ … Kind first-control-plane-79z9t  Provisioning  12s  InfrastructureReady: VMProvisioned: no quota (+1)",
            ),
            (
                100,
                "└─ … first-control-plane-79z9t  Provisioning  12s  InfrastructureReady: VMProvisioned: no quota (+1)",
            ),
            (70, "└─ … first-control-plane-79z9t  Provisioning  12s  InfrastructureRead…"),
        ];
        for (width, expected) in lines {
            assert_eq!(tree(&[entry.clone()], now, width, false), [expected], "{width}");
        }
    }

    #[test]
    fn only_changes_are_printed() {
        let mut before = BTreeMap::new();
        let first = [entry(0, "a", State::Waiting, "b"), entry(1, "b", State::Good, "")];
        assert_eq!(changes(&mut before, &first), ["Kind default/a: waiting: b", "Kind default/b: ready"]);
        assert_eq!(changes(&mut before, &first), Vec::<String>::new());
        let second = [entry(0, "a", State::Good, "")];
        assert_eq!(changes(&mut before, &second), ["Kind default/a: ready", "Kind default/b: gone"]);
    }
}
