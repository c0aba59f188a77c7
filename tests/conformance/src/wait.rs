//! Conditions on a response.

use serde_json::Value;

use crate::paths::{lookup, scalar};

/// Checks whether a response meets `until` (see [`crate::model::Wait`]).
///
/// # Errors
/// Describes the first condition that does not hold.
pub fn met(until: &str, code: u16, body: &Value) -> Result<(), String> {
    until.split(", ").try_for_each(|condition| one(condition.trim(), code, body))
}

fn one(condition: &str, code: u16, body: &Value) -> Result<(), String> {
    let success = code / 100 == 2;
    let shown =
        |path: &str| format!("code {code} {path}={}", lookup(body, path).map(scalar).unwrap_or_default());
    if condition.is_empty() {
        return if success { Ok(()) } else { Err(format!("code {code}")) };
    }
    if let Some(wanted) = condition.strip_prefix("code=") {
        return if code.to_string() == wanted { Ok(()) } else { Err(format!("code {code}")) };
    }
    let (path, holds) = if let Some(path) = condition.strip_prefix('!') {
        (path, success && lookup(body, path).is_none())
    } else if let Some((path, unwanted)) = condition.split_once("!=") {
        (path, success && lookup(body, path).map(scalar).as_deref() != Some(unwanted))
    } else if let Some((path, wanted)) = condition.split_once('=') {
        (path, lookup(body, path).map(scalar).as_deref() == Some(wanted))
    } else {
        (condition, lookup(body, condition).is_some())
    };
    if holds { Ok(()) } else { Err(shown(path)) }
}
