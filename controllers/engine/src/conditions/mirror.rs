//! Mirrors: conditions copied from another object, typed or not.

use machinery::clock::parse_rfc3339;
use schemas::meta::Condition;
use serde_json::Value;

use super::{FALSE, NOT_YET_REPORTED, TRUE, UNKNOWN, is_unknown, new};

/// Reason for a provider's condition that has no reason.
pub const NO_REASON_REPORTED: &str = "NoReasonReported";

/// The values of a mirror while the source object lacks the condition.
pub struct Fallback {
    /// Status of the mirror.
    pub status: &'static str,
    /// Reason of the mirror.
    pub reason: &'static str,
    /// Message of the mirror.
    pub message: String,
}

/// Copies `source`, with its transition time, as condition `target`. Without a source it uses `fallback`, or
/// else `Unknown`.
pub fn mirror(
    target: &str,
    type_: &str,
    source: Option<&Condition>,
    fallback: Option<Fallback>,
) -> Condition {
    match (source, fallback) {
        (Some(source), _) => {
            Condition { type_: target.to_owned(), observed_generation: None, ..source.clone() }
        }
        (None, Some(fallback)) => new(target, fallback.status, fallback.reason, fallback.message),
        (None, None) => is_unknown(target, NOT_YET_REPORTED, format!("Condition {type_} not yet reported")),
    }
}

/// The longest reason of a condition that the API server accepts.
const MAX_REASON: usize = 1024;

/// Reads the condition `type_` of a provider's object by the contract's rules: type and status are required,
/// the rest has defaults. A copy of what is returned is a valid condition.
///
/// # Errors
/// Says in words why the condition is malformed.
pub fn read(object: &Value, type_: &str) -> Result<Option<Condition>, String> {
    let Some(conditions) = object.pointer("/status/conditions") else { return Ok(None) };
    let Some(list) = conditions.as_array() else { return Err("status.conditions is not a list".into()) };
    let Some(condition) = list.iter().find(|condition| condition["type"] == type_) else { return Ok(None) };
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let status = text("status");
    if ![TRUE, FALSE, UNKNOWN].contains(&status.as_str()) {
        return Err(format!(
            "condition {type_} has the status {status:?}, which is not True, False or Unknown"
        ));
    }
    let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
    if let Some(reason) = reason.as_ref().filter(|reason| !is_reason(reason)) {
        let shown: String = reason.chars().take(64).collect();
        return Err(format!("condition {type_} has the reason {shown:?}, which is not a word in CamelCase"));
    }
    let since = text("lastTransitionTime");
    if !since.is_empty() && parse_rfc3339(&since).is_none() {
        let shown: String = since.chars().take(64).collect();
        return Err(format!("condition {type_} has the lastTransitionTime {shown:?}, which is no time"));
    }
    Ok(Some(Condition {
        type_: type_.to_owned(),
        status,
        reason: reason.unwrap_or_else(|| NO_REASON_REPORTED.to_owned()),
        message: text("message"),
        last_transition_time: since,
        observed_generation: condition["observedGeneration"].as_i64(),
    }))
}

/// Returns whether the API server accepts the reason: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`.
fn is_reason(reason: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    reason.len() <= MAX_REASON
        && reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(is_word)
        && reason.chars().all(|c| is_word(c) || c == ',' || c == ':')
}
