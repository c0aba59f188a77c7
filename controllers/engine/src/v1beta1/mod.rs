//! Conditions as the API version v1beta1 had them, which older clients read. They have a severity, and `Ready` sums up the others.
//!
//! The controller of an object is the only writer of the list: it is replaced as a whole. What another controller reports about an object,
//! this one repeats from `status.conditions`, see [`machines`].

pub mod machines;

use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use schemas::meta::{Condition, V1Beta1Condition};
use serde_json::Value;

use crate::conditions::{FALSE, TRUE, UNKNOWN};
use crate::external::ExternalObject;

/// The type of the condition that sums up the others.
pub const READY: &str = "Ready";
/// The longest message that the API server accepts, in characters.
const MAX_MESSAGE: usize = 10_240;
/// The longest reason that the API server accepts, in characters.
const MAX_REASON: usize = 256;

/// How much a condition that is not true matters; the first one matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Somebody has to do something.
    Error,
    /// It may go away.
    Warning,
    /// It goes away.
    Info,
}

/// Returns a condition that is true.
pub fn is_true(type_: &str) -> V1Beta1Condition {
    V1Beta1Condition { type_: type_.to_owned(), status: TRUE.to_owned(), ..V1Beta1Condition::default() }
}

/// Returns a condition that is false.
pub fn is_false(
    type_: &str,
    severity: Severity,
    reason: &str,
    message: impl Into<String>,
) -> V1Beta1Condition {
    V1Beta1Condition {
        type_: type_.to_owned(),
        status: FALSE.to_owned(),
        severity: Some(format!("{severity:?}")),
        reason: Some(reason.to_owned()),
        message: Some(message.into()).filter(|message| !message.is_empty()),
        ..V1Beta1Condition::default()
    }
}

/// Returns a condition whose state cannot be determined.
pub fn is_unknown(type_: &str, reason: &str, message: impl Into<String>) -> V1Beta1Condition {
    V1Beta1Condition {
        status: UNKNOWN.to_owned(),
        severity: None,
        ..is_false(type_, Severity::Info, reason, message)
    }
}

/// Returns the condition of this type that repeats one of `status.conditions`, with its time.
pub fn repeated(type_: &str, condition: &Condition) -> V1Beta1Condition {
    let is_true = condition.status == TRUE;
    V1Beta1Condition {
        type_: type_.to_owned(),
        status: condition.status.clone(),
        last_transition_time: condition.last_transition_time.clone(),
        reason: (!is_true).then(|| condition.reason.clone()),
        message: (!is_true).then(|| condition.message.clone()).filter(|message| !message.is_empty()),
        severity: (!is_true).then(|| format!("{:?}", Severity::Info)),
    }
}

/// Cuts a message that the API server would refuse.
pub fn shortened(message: String) -> String {
    if message.len() <= MAX_MESSAGE || message.chars().nth(MAX_MESSAGE).is_none() {
        return message;
    }
    let mut short: String = message.chars().take(MAX_MESSAGE - 1).collect();
    short.push('…');
    short
}

/// Returns whether the condition of this type is true.
pub fn has(conditions: &[V1Beta1Condition], type_: &str) -> bool {
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == TRUE)
}

/// Sets a condition. Its time changes whenever anything else of it does.
pub fn set(conditions: &mut Vec<V1Beta1Condition>, now: DateTime<Utc>, mut condition: V1Beta1Condition) {
    condition.message = condition.message.map(shortened);
    condition.reason = condition.reason.map(|reason| reason.chars().take(MAX_REASON).collect());
    let existing = conditions.iter().position(|present| present.type_ == condition.type_);
    match existing.map(|index| conditions.remove(index)) {
        Some(before) if is_same(&before, &condition) => {
            condition.last_transition_time = before.last_transition_time;
        }
        _ => condition.last_transition_time = rfc3339(now),
    }
    conditions.push(condition);
    conditions.sort_by_key(|condition| (condition.type_ != READY, condition.type_.clone()));
}

/// Removes the condition of this type.
pub fn remove(conditions: &mut Vec<V1Beta1Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

fn is_same(a: &V1Beta1Condition, b: &V1Beta1Condition) -> bool {
    let with_time = V1Beta1Condition { last_transition_time: a.last_transition_time.clone(), ..b.clone() };
    *a == with_time
}

/// Returns `Ready`, which repeats the one of `types` that matters most; of several, the first. `None` if there is none of them.
pub fn summary(conditions: &[V1Beta1Condition], types: &[&str]) -> Option<V1Beta1Condition> {
    let of_type = |type_: &&str| conditions.iter().find(|condition| condition.type_ == *type_);
    let found = types.iter().filter_map(of_type);
    let first = found.min_by_key(|condition| rank(condition))?;
    Some(match first.status.as_str() {
        TRUE => is_true(READY),
        _ => V1Beta1Condition { type_: READY.to_owned(), ..first.clone() },
    })
}

/// Orders conditions by how much they matter, as Cluster API does: those that are false by severity, then true ones, then unknown ones.
pub fn rank(condition: &V1Beta1Condition) -> u8 {
    match (condition.status.as_str(), condition.severity.as_deref()) {
        (FALSE, Some("Error")) => 0,
        (FALSE, Some("Warning")) => 1,
        (FALSE, _) => 2,
        (TRUE, _) => 3,
        _ => 4,
    }
}

/// Returns the condition `target` that repeats `Ready` of a provider's object, whatever its contract: in v1beta2, the condition has no
/// severity. If the object has none, `is_ready` counts, and `reason` says why it is not ready.
pub fn mirror(target: &str, object: &ExternalObject, is_ready: bool, reason: &str) -> V1Beta1Condition {
    let conditions = object.get("/status/conditions").and_then(Value::as_array);
    let mut ready = conditions.into_iter().flatten().filter(|condition| condition["type"] == READY);
    let parsed = ready.next().and_then(parse);
    match parsed {
        Some(ready) => V1Beta1Condition { type_: target.to_owned(), ..ready },
        None if is_ready => is_true(target),
        None => is_false(target, Severity::Info, reason, ""),
    }
}

/// Reads a condition; `None` if its status is none.
fn parse(condition: &Value) -> Option<V1Beta1Condition> {
    let text = |field: &str| condition[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(V1Beta1Condition {
        status: text("status").filter(|status| [TRUE, FALSE, UNKNOWN].contains(&status.as_str()))?,
        severity: text("severity")
            .filter(|severity| ["Error", "Warning", "Info"].contains(&severity.as_str())),
        reason: text("reason"),
        message: text("message"),
        ..V1Beta1Condition::default()
    })
}
