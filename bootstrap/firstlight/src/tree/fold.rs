//! Fits the tree into the rows of a terminal: entries that are not ready stay, the others are counted. Pure.

use super::model::{Entry, State};

/// Returns at most `rows` entries. Ready machines are folded first, then ready objects of clusters, then ready clusters; each run of folded
/// entries becomes one entry with their number. If the entries that are not ready are too many, the last ones are counted, too.
pub fn fold(entries: &[Entry], rows: usize) -> Vec<Entry> {
    let mut folded = entries.to_vec();
    for depth in (0..=entries.iter().map(|entry| entry.depth).max().unwrap_or(0)).rev() {
        if folded.len() <= rows {
            return folded;
        }
        folded = fold_ready(entries, depth);
    }
    if folded.len() > rows {
        let shown = rows.saturating_sub(1);
        let rest = &folded[shown..];
        let waiting = rest.iter().filter(|entry| !is_ready(entry.state)).count();
        let count: usize = rest.iter().map(folded_count).sum();
        let more = more(0, count, &format!("{waiting} not ready"));
        folded.truncate(shown);
        folded.push(more);
    }
    folded
}

/// Folds the entries at `depth` and below whose subtrees are ready.
fn fold_ready(entries: &[Entry], depth: usize) -> Vec<Entry> {
    let mut shown: Vec<Entry> = Vec::new();
    let mut run: Vec<&Entry> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let folds = entry.depth >= depth && subtree(entries, index).iter().all(|entry| is_ready(entry.state));
        // A run ends where the tree goes up, so that each parent counts its own children.
        let leaves = run.first().is_some_and(|first| entry.depth < first.depth);
        if !folds || leaves {
            end_run(&mut run, &mut shown);
        }
        if folds {
            run.push(entry);
        } else {
            shown.push(entry.clone());
        }
    }
    end_run(&mut run, &mut shown);
    shown
}

fn end_run(run: &mut Vec<&Entry>, shown: &mut Vec<Entry>) {
    match run.as_slice() {
        [] => {}
        // One entry takes as many rows as its count.
        [only] => shown.push((*only).clone()),
        [first, ..] => shown.push(more(first.depth, run.len(), "all ready")),
    }
    run.clear();
}

/// Returns the entry that stands for `count` others.
pub fn more(depth: usize, count: usize, what: &str) -> Entry {
    Entry {
        depth,
        key: String::new(),
        label: format!("{count} more, {what}"),
        state: State::Folded(count),
        summary: String::new(),
        causes: Vec::new(),
        since: None,
        starts: None,
    }
}

fn folded_count(entry: &Entry) -> usize {
    match entry.state {
        State::Folded(count) => count,
        _ => 1,
    }
}

fn is_ready(state: State) -> bool {
    matches!(state, State::Good | State::Folded(_))
}

/// Returns the entry and the entries below it.
fn subtree(entries: &[Entry], index: usize) -> &[Entry] {
    let below = entries[index + 1..].iter().take_while(|entry| entry.depth > entries[index].depth).count();
    &entries[index..=index + below]
}
