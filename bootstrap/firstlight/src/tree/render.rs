//! Renders the tree as text for a terminal. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use terminal::{cut, wrapped};
use unicode_width::UnicodeWidthStr;

use super::fold::fold;
use super::model::{Entry, State};
use super::words::{Sentence, sentences};

/// Narrower terminals get lines of this width, which they cut.
const WIDTH_MIN: usize = 20;
/// The lines that a cause may have below its entry.
const CAUSE_LINES_MAX: usize = 4;

/// Returns the whole tree in lines of at most `width` columns. An entry has its causes beside it, or below it if one line is too short.
/// `colour` adds ANSI colours.
pub fn tree(entries: &[Entry], now: DateTime<Utc>, width: usize, colour: bool) -> Vec<String> {
    let drawing = Drawing { said: said(entries, now), now, width: width.max(WIDTH_MIN), colour };
    drawing.lines(entries, true)
}

/// Like [`tree`], in at most `rows` lines: if there are more, ready entries are folded, and then each entry has one line.
pub fn fitted(
    entries: &[Entry],
    now: DateTime<Utc>,
    (width, rows): (usize, usize),
    colour: bool,
) -> Vec<String> {
    let drawing = Drawing { said: said(entries, now), now, width: width.max(WIDTH_MIN), colour };
    let whole = drawing.lines(entries, true);
    if whole.len() <= rows {
        return whole;
    }
    let folded = fold(entries, rows);
    let whole = drawing.lines(&folded, true);
    if whole.len() <= rows { whole } else { drawing.lines(&folded, false) }
}

/// What is said of each entry, by its key. It is made of all entries, also of those that are folded then.
type Said<'a> = BTreeMap<&'a str, Vec<Sentence>>;

fn said(entries: &[Entry], now: DateTime<Utc>) -> Said<'_> {
    let waiting = entries.iter().enumerate().filter(|(_, entry)| !entry.causes.is_empty());
    waiting.map(|(index, entry)| (entry.key.as_str(), sentences(entries, index, Some(now)))).collect()
}

/// What is common to all lines of a tree.
struct Drawing<'a> {
    said: Said<'a>,
    now: DateTime<Utc>,
    width: usize,
    colour: bool,
}

impl Drawing<'_> {
    /// Draws entries; `below` permits lines for the causes below them.
    fn lines(&self, entries: &[Entry], below: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let place = Place { entries, index, width: self.width };
            let sentences = self.said.get(entry.key.as_str()).map_or(&[][..], Vec::as_slice);
            for line in place.lines(sentences, self.now, below) {
                lines.push(if self.colour { painted(&line, entry.state) } else { line });
            }
        }
        lines
    }
}

/// The place of an entry in the tree.
struct Place<'a> {
    entries: &'a [Entry],
    index: usize,
    width: usize,
}

impl Place<'_> {
    /// Returns the lines of the entry. Others wrote the causes and a part of the rest, so they are escaped.
    fn lines(&self, sentences: &[Sentence], now: DateTime<Utc>, below: bool) -> Vec<String> {
        let entry = &self.entries[self.index];
        let label = terminal::line(&entry.label);
        let summary = match terminal::line(&entry.summary) {
            summary if summary.is_empty() => String::new(),
            summary => format!("  {summary}"),
        };
        let age = match (entry.state, entry.since) {
            (State::Waiting | State::Deleting, Some(since)) => format!("  {}", age(now - since)),
            _ => String::new(),
        };
        let start = format!("{}{} ", self.branch(), mark(entry.state));
        let head = format!("{start}{label}{summary}{age}");
        let Some(first) = sentences.first() else { return vec![cut(&head, self.width)] };
        let all: Vec<String> = sentences.iter().map(Sentence::text).collect();
        let others = if all.len() > 1 { format!(" (+{})", all.len() - 1) } else { String::new() };
        let first = terminal::line(&first.text()).into_owned() + &others;
        let all = terminal::line(&all.join("; ")).into_owned();
        let name = label.split_once(' ').map_or(&*label, |(_, name)| name);
        let short = format!("{start}{name}{age}  {first}");
        let one_line = [format!("{head}  {all}"), format!("{head}  {first}")];
        if let Some(line) = one_line.iter().find(|line| line.width() <= self.width) {
            return vec![line.clone()];
        }
        if !below {
            return vec![cut(&short, self.width)];
        }
        let indent = format!("{}  ", self.below());
        let room = self.width.saturating_sub(indent.width()).max(1);
        let text = if all.width() <= room { all } else { first };
        let mut lines = wrapped(&text, room);
        if lines.len() > CAUSE_LINES_MAX {
            let rest = lines.split_off(CAUSE_LINES_MAX - 1).join(" ");
            lines.push(cut(&rest, room));
        }
        let causes = lines.into_iter().map(|line| cut(&format!("{indent}{line}"), self.width));
        std::iter::once(cut(&head, self.width)).chain(causes).collect()
    }

    /// Returns whether a later entry hangs on the line at this level.
    fn continues(&self, level: usize) -> bool {
        let later = self.entries[self.index + 1..].iter().find(|entry| entry.depth <= level);
        later.is_some_and(|entry| entry.depth == level)
    }

    /// Returns the lines that lead to the entry, for example `│  ├─ `.
    fn branch(&self) -> String {
        let depth = self.entries[self.index].depth;
        (1..=depth)
            .map(|level| match (level == depth, self.continues(level)) {
                (true, true) => "├─ ",
                (true, false) => "└─ ",
                (false, true) => "│  ",
                (false, false) => "   ",
            })
            .collect()
    }

    /// Returns the lines that go on beside the causes below the entry.
    fn below(&self) -> String {
        let depth = self.entries[self.index].depth;
        let has_children = self.entries.get(self.index + 1).is_some_and(|next| next.depth > depth);
        let above = (1..=depth).map(|level| if self.continues(level) { "│  " } else { "   " });
        above.chain([if has_children { "│  " } else { "   " }]).collect()
    }
}

fn mark(state: State) -> char {
    match state {
        State::Good => '✓',
        State::Waiting | State::Folded(_) => '…',
        State::Deleting => '✗',
    }
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

/// Returns a duration in a form like `0.3s`, `42s`, `3m12s`.
pub fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        10..120 => format!("{}s", duration.as_secs()),
        whole => format!("{}m{}s", whole / 60, whole % 60),
    }
}
