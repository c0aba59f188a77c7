//! Renders the tree as text: redrawn in place on a terminal, otherwise as lines with changes. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::model::{Entry, State};

/// Returns the whole tree, with a line for each entry, truncated to `width` columns. `colour` adds ANSI colours.
pub fn tree(entries: &[Entry], now: DateTime<Utc>, width: usize, colour: bool) -> Vec<String> {
    let mut lines = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let text = format!("{}{}", branch(entries, index), content(entry, now));
        let cut: String = text.chars().take(width.max(20)).collect();
        lines.push(if colour { painted(&cut, entry.state) } else { cut });
    }
    lines
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
    let mark = match entry.state {
        State::Good => "ready",
        State::Waiting => "waiting",
        State::Deleting => "deleting",
    };
    let mut text =
        if entry.summary.is_empty() { mark.to_owned() } else { format!("{mark}, {}", entry.summary) };
    if !entry.waiting_for.is_empty() {
        text.push_str(": ");
        text.push_str(&entry.waiting_for);
    }
    text
}

fn content(entry: &Entry, now: DateTime<Utc>) -> String {
    let mark = match entry.state {
        State::Good => '✓',
        State::Waiting => '…',
        State::Deleting => '✗',
    };
    let mut text = format!("{mark} {}", entry.label);
    if !entry.summary.is_empty() {
        text.push_str("  ");
        text.push_str(&entry.summary);
    }
    if let (State::Waiting | State::Deleting, Some(since)) = (entry.state, entry.since) {
        text.push_str(&format!("  {}", age(now - since)));
    }
    if !entry.waiting_for.is_empty() {
        text.push_str("  waiting for: ");
        text.push_str(&entry.waiting_for);
    }
    text
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
            waiting_for: waiting_for.into(),
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
        assert_eq!(tree(&entries, now, 20, false)[0].chars().count(), 20);
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
