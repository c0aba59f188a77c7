//! Priorities, statuses and message indentation, shared by summaries and aggregates.

use schemas::meta::Condition;

use super::{FALSE, TRUE, UNKNOWN};

/// The priority of a source condition in a merge; the highest priority comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Something is wrong.
    Issue,
    /// The condition's status is `Unknown`.
    Unknown,
    /// The condition has its good status.
    Info,
}

/// Returns the priority of `condition`; the types in `negative` are good if `False`.
pub fn polarity(condition: &Condition, negative: &[&str]) -> Priority {
    let is_negative = negative.contains(&condition.type_.as_str());
    match condition.status.as_str() {
        TRUE if is_negative => Priority::Issue,
        FALSE if !is_negative => Priority::Issue,
        TRUE | FALSE => Priority::Info,
        _ => Priority::Unknown,
    }
}

/// The reasons that a merged condition can have.
#[derive(Debug, Clone, Copy)]
pub struct Reasons {
    /// Reason when a source has an issue.
    pub issue: &'static str,
    /// Reason when no source has an issue and at least one is unknown.
    pub unknown: &'static str,
    /// Reason when all sources are good.
    pub info: &'static str,
}

impl Default for Reasons {
    fn default() -> Self {
        Self { issue: "IssuesReported", unknown: "UnknownReported", info: "InfoReported" }
    }
}

/// Returns status and reason of a condition merged from sources with these priorities. If `negative`, the
/// merged condition is good if `False`.
pub(super) fn status(
    priorities: impl Iterator<Item = Priority>,
    negative: bool,
    reasons: &Reasons,
) -> (&'static str, &'static str) {
    let (bad, good) = if negative { (TRUE, FALSE) } else { (FALSE, TRUE) };
    match priorities.min() {
        Some(Priority::Issue) => (bad, reasons.issue),
        Some(Priority::Unknown) => (UNKNOWN, reasons.unknown),
        Some(Priority::Info) | None => (good, reasons.info),
    }
}

/// Returns ` message`, or puts the message on separate lines when it has several lines or begins with a
/// bullet.
pub(super) fn indent(message: &str) -> String {
    if !message.contains('\n') && !message.starts_with("* ") {
        return format!(" {message}");
    }
    let is_bullet = |line: &str| line.trim_start().starts_with("* ");
    let all_bullets = message.lines().all(is_bullet);
    let mut text = String::new();
    for line in message.lines() {
        let prefix = match (all_bullets, is_bullet(line)) {
            (true, _) => "  ",
            (false, true) => "    ",
            (false, false) => "  * ",
        };
        text.push('\n');
        text.push_str(prefix);
        text.push_str(line);
    }
    text
}
