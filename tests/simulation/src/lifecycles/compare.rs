//! Compares what was recorded with what happened here. Pure functions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::facts::{COMPARED, Facts};
use super::recording::{Key, Line};

/// The beginnings of the generated names in the recordings; those that begin with another one come before it.
const OWNERS: [&str; 9] =
    ["plain-cp", "plain-md", "alone", "demo-md-0", "demo-md-1", "demo-md-2", "demo", "orphan-md-0", "orphan"];
/// Numbers that pass through values on their way, which depend on how fast each machine is.
const NUMBERS: [&str; 8] = [
    "annotation desired-replicas",
    "annotation max-replicas",
    "availableReplicas",
    "currentHealthy",
    "expectedMachines",
    "readyReplicas",
    "replicas",
    "upToDateReplicas",
];

/// Returns a text in which generated names are those of what they were generated for: `plain-md-469gt-292pf` becomes
/// `plain-md-<suffix>-<suffix>`.
pub fn general(text: &str) -> String {
    OWNERS.iter().fold(text.to_owned(), |text, base| without_suffixes(&text, base))
}

/// Returns the facts about all objects at rest, and how often each occurs. Generated names are general.
fn summary(objects: &BTreeMap<Key, Facts>) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for ((kind, name), facts) in objects.iter().filter(|((kind, _), _)| COMPARED.contains(&kind.as_str())) {
        for (fact, found) in facts {
            let line = format!("{kind} {name} {fact}={}: {}", found.value, found.message);
            *lines.entry(general(line.trim_end_matches(": "))).or_default() += 1;
        }
    }
    lines
}

/// Returns the facts at rest that only the first and only the second have, each with its number.
pub fn at_rest(theirs: &BTreeMap<Key, Facts>, ours: &BTreeMap<Key, Facts>) -> (Vec<String>, Vec<String>) {
    let (theirs, ours) = (summary(theirs), summary(ours));
    let only = |these: &BTreeMap<String, usize>, those: &BTreeMap<String, usize>| -> Vec<String> {
        let lines = these.iter().filter(|(line, count)| those.get(*line) != Some(count));
        lines.map(|(line, count)| format!("{count} {line}")).collect()
    };
    (only(&theirs, &ours), only(&ours, &theirs))
}

/// A change that was recorded, and did not happen here, or later than there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The change, with general names and without messages.
    pub text: String,
    /// When it happened there.
    pub there: Duration,
    /// When it happened here, if it did.
    pub here: Option<Duration>,
}

/// Returns the recorded changes of conditions and the like that did not happen here at the same time at the latest. What was already so when
/// the step began, as `begun` says, need not happen. Each object that was created or deleted there must be here.
pub fn missing(recorded: &[Line], here: &[Line], begun: &BTreeMap<Key, Facts>) -> Vec<Missing> {
    let begun = states(begun);
    let mut ours: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for line in here {
        ours.entry(change(&line.text)).or_default().push(line.after);
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut missing = Vec::new();
    for line in recorded.iter().filter(|line| !is_number(&line.text)) {
        let text = change(&line.text);
        let count = seen.entry(text.clone()).or_default();
        let times = ours.get(&text).map(Vec::as_slice).unwrap_or_default();
        let is_counted = text.ends_with(" created") || text.ends_with(" gone");
        let time = times.get(*count).copied();
        *count += 1;
        if (*count > 1 && !is_counted) || begun.contains(&text) {
            continue;
        }
        if time.is_none_or(|time| time > line.after) {
            missing.push(Missing { text, there: line.after, here: time });
        }
    }
    missing
}

/// Returns the changes that would lead to this state.
fn states(objects: &BTreeMap<Key, Facts>) -> BTreeSet<String> {
    let facts = objects.iter().flat_map(|(key, facts)| facts.iter().map(move |fact| (key, fact)));
    facts
        .map(|((kind, name), (fact, found))| general(&format!("{kind} {name} {fact}={}", found.value)))
        .collect()
}

/// Returns a change with general names and without the message of a condition.
fn change(text: &str) -> String {
    let end = text.find('=').and_then(|value| Some(value + text[value..].find(": ")?));
    general(&text[..end.unwrap_or(text.len())])
}

fn is_number(text: &str) -> bool {
    let what = text.splitn(3, ' ').nth(2).unwrap_or_default();
    NUMBERS.iter().any(|name| what.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
}

/// Replaces the generated suffixes of names that begin with `base`.
fn without_suffixes(text: &str, base: &str) -> String {
    let mut parts = text.split(base);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(base);
        let mut rest = part;
        while let Some(after) = suffix(rest) {
            out.push_str("-<suffix>");
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// Returns what follows a generated suffix at the beginning of the text.
fn suffix(text: &str) -> Option<&str> {
    let (suffix, rest) = text.strip_prefix('-')?.split_at_checked(5)?;
    let is_part = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
    (suffix.chars().all(is_part) && !rest.starts_with(is_part)).then_some(rest)
}
