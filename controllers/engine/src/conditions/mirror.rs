//! Mirrors: conditions copied from another object, typed or not.

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

/// Reads the condition `type_` of a provider's object by the contract's rules: type and status are required,
/// the rest has defaults.
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
    Ok(Some(Condition {
        type_: type_.to_owned(),
        status,
        reason: reason.unwrap_or_else(|| NO_REASON_REPORTED.to_owned()),
        message: text("message"),
        last_transition_time: text("lastTransitionTime"),
        observed_generation: condition["observedGeneration"].as_i64(),
    }))
}
