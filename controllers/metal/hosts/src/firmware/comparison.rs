//! The common parts of the comparisons of objects with the machine.

use std::time::Duration;

use engine::conditions::FALSE;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::HasConditions;

use crate::limits;

/// Condition: whether the spec differs from the machine.
pub const CHANGE_DETECTED: &str = "ChangeDetected";
/// Condition: whether the spec can be applied.
pub const VALID: &str = "Valid";
/// The reason of a condition whose status is unknown because the BMC cannot be read.
pub(super) const UNREADABLE: &str = "Unreadable";

/// Returns a wanted value in the form of the status.
pub(crate) fn as_text(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}

/// The answer of the BMC.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<T> {
    /// The data of the BMC.
    Known(T),
    /// The BMC does not support the query; the message says why.
    Unsupported(String),
    /// The query failed; the message says why.
    Unreadable(String),
}

impl<T> From<bmc::Result<T>> for Found<T> {
    fn from(answer: bmc::Result<T>) -> Self {
        match answer {
            Ok(known) => Self::Known(known),
            Err(error) if error.is_unsupported() => Self::Unsupported(error.to_string()),
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }
}

/// Returns why the spec cannot be applied, unless `was` has the same message.
pub(super) fn new_objection<'a, K: HasConditions>(was: &K, object: &'a K) -> Option<&'a str> {
    let valid = object.condition(VALID).filter(|valid| valid.status == FALSE)?;
    let is_known = was.condition(VALID).is_some_and(|was| was.message == valid.message);
    (!is_known).then_some(valid.message.as_str())
}

/// Returns the time until the object is compared again: shorter while changes are wanted and not yet in force.
pub(super) fn next_look(wants_changes: bool, object: &impl HasConditions) -> Duration {
    let is_changing = object.condition(CHANGE_DETECTED).is_some_and(|change| change.status != FALSE);
    if wants_changes && is_changing { limits::FIRMWARE_CHANGE } else { limits::FIRMWARE_POLL }
}
