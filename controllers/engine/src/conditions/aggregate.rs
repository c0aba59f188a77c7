//! Aggregates: one condition of an object, computed from the same condition of several other objects.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemas::meta::Condition;

use super::merge::{Priority, Reasons, indent, polarity, status};
use super::{NOT_YET_REPORTED, UNKNOWN, find, new};

/// An aggregate shows at most this many different messages, and at most `MAX_NAMES` object names with each.
const MAX_MESSAGES: usize = 3;
const MAX_NAMES: usize = 3;

/// An object whose condition is part of an aggregate.
#[derive(Clone)]
pub struct Source<'a> {
    /// The object's kind.
    pub kind: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// Whether the object is a control plane Machine; these are listed first.
    pub is_control_plane: bool,
    /// The object's conditions.
    pub conditions: &'a [Condition],
}

struct Entry<'a> {
    source: &'a Source<'a>,
    condition: Cow<'a, Condition>,
    priority: Priority,
}

/// Merges the condition `type_` of `sources` into one condition of type `target`. If `negative`, `False` is
/// the good status of both.
pub fn aggregate(
    target: &str,
    type_: &str,
    negative: bool,
    reasons: &Reasons,
    sources: &[Source<'_>],
) -> Condition {
    let negatives: &[&str] = if negative { &[type_] } else { &[] };
    let entries: Vec<Entry<'_>> = sources
        .iter()
        .map(|source| {
            let condition = find(source.conditions, type_).map(Cow::Borrowed).unwrap_or_else(|| {
                let message = format!("Condition {type_} not yet reported");
                Cow::Owned(new(type_, UNKNOWN, NOT_YET_REPORTED, message))
            });
            let priority = polarity(&condition, negatives);
            Entry { source, condition, priority }
        })
        .collect();
    let (status, reason) = status(entries.iter().map(|entry| entry.priority), negative, reasons);
    new(target, status, reason, message(&entries))
}

/// Builds the message of an aggregate: the messages with issues and unknown statuses, or, if there are none,
/// all other messages.
fn message(entries: &[Entry<'_>]) -> String {
    let troubled: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.priority != Priority::Info).collect();
    let chosen: Vec<&Entry<'_>> = if troubled.is_empty() {
        entries.iter().filter(|entry| !entry.condition.message.is_empty()).collect()
    } else {
        troubled
    };
    let mut by_kind: BTreeMap<&str, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in chosen {
        by_kind.entry(entry.source.kind).or_default().push(entry);
    }
    let mut left = MAX_MESSAGES;
    let mut lines = Vec::new();
    for (kind, entries) in by_kind {
        kind_lines(kind, &entries, &mut left, &mut lines);
    }
    lines.join("\n")
}

/// A message that several objects of one kind share.
struct Group<'a> {
    text: &'a str,
    priority: Priority,
    is_control_plane: bool,
    names: Vec<&'a str>,
}

fn groups<'a>(entries: &[&'a Entry<'a>]) -> Vec<Group<'a>> {
    let control_plane: BTreeSet<&str> =
        entries.iter().filter(|entry| entry.source.is_control_plane).map(|entry| entry.source.name).collect();
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for entry in entries {
        let condition = &entry.condition;
        let text = if condition.message.is_empty() { &condition.reason } else { &condition.message };
        let group = groups.entry(text).or_insert(Group {
            text,
            priority: entry.priority,
            is_control_plane: false,
            names: Vec::new(),
        });
        group.priority = group.priority.min(entry.priority);
        group.is_control_plane |= entry.source.is_control_plane;
        group.names.push(entry.source.name);
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    for group in &mut groups {
        group.names.sort_by_key(|name| (!control_plane.contains(name), *name));
    }
    groups.sort_by(|a, b| {
        let key = |group: &Group<'_>| {
            (!group.is_control_plane, group.priority, std::cmp::Reverse(group.names.len()))
        };
        key(a).cmp(&key(b)).then_with(|| a.names.cmp(&b.names))
    });
    groups
}

fn kind_lines(kind: &str, entries: &[&Entry<'_>], left: &mut usize, lines: &mut Vec<String>) {
    let plural = format!("{kind}s");
    let mut others: BTreeMap<Priority, usize> = BTreeMap::new();
    for group in groups(entries) {
        if *left == 0 {
            *others.entry(group.priority).or_default() += group.names.len();
            continue;
        }
        *left -= 1;
        let noun = if group.names.len() == 1 { kind } else { &plural };
        let names = list_names(&group.names);
        lines.push(format!("* {noun} {names}:{}", indent(group.text)));
    }
    for (priority, count) in others {
        let what = match priority {
            Priority::Issue => "with other issues",
            Priority::Unknown => "with status unknown",
            Priority::Info => "with additional info",
        };
        let noun = if count == 1 { kind } else { &plural };
        lines.push(format!("And {count} {noun} {what}"));
    }
}

/// Lists at most three names, followed by the number of further names.
fn list_names(names: &[&str]) -> String {
    match names.len().checked_sub(MAX_NAMES) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, ... ({more} more)", names[..MAX_NAMES].join(", ")),
    }
}
