//! Summaries: one condition of an object, computed from several other conditions of the same object.

use schemas::meta::Condition;

use super::merge::{Priority, Reasons, indent, polarity, status};
use super::{NOT_YET_REPORTED, UNKNOWN, find, new};

/// The conditions that make a summary, and how they are merged.
pub struct Summary<'a> {
    /// Types of the source conditions, in the order of the message.
    pub types: Vec<&'a str>,
    /// The types among them that are good if `False`.
    pub negative: Vec<&'a str>,
    /// The types among them that are left out if absent; any other absent condition counts as unknown.
    pub ignore_if_missing: Vec<&'a str>,
    /// Reasons that the merged condition can have.
    pub reasons: Reasons,
}

/// Merges `conditions` into one condition of type `target`. `priority` may set a source's priority; `None`
/// leaves it to the polarity.
pub fn summarize(
    target: &str,
    conditions: &[Condition],
    summary: &Summary<'_>,
    priority: impl Fn(&Condition) -> Option<Priority>,
) -> Condition {
    let mut sources = Vec::new();
    for type_ in &summary.types {
        match find(conditions, type_) {
            Some(condition) => sources.push(condition.clone()),
            None if summary.ignore_if_missing.contains(type_) => {}
            None => sources.push(new(type_, UNKNOWN, NOT_YET_REPORTED, "Condition not yet reported")),
        }
    }
    let priority =
        |condition: &Condition| priority(condition).unwrap_or_else(|| polarity(condition, &summary.negative));
    let (status, reason) = status(sources.iter().map(&priority), false, &summary.reasons);
    let lines: Vec<String> = sources
        .iter()
        .filter(|source| {
            priority(source) != Priority::Info || (status == super::TRUE && !source.message.is_empty())
        })
        .map(line)
        .collect();
    new(target, status, reason, lines.join("\n"))
}

fn line(source: &Condition) -> String {
    let text = if source.message.is_empty() { &source.reason } else { &source.message };
    format!("* {}:{}", source.type_, indent(text))
}
