//! Metal3Remediation and Metal3RemediationTemplate.

use machinery::duration::{SECOND, of_seconds, parse_nanoseconds};
use serde_json::{Value, json};

use super::fields::{Fields, at};

const STRATEGY: [&str; 2] = ["spec", "strategy"];
const TEMPLATE_STRATEGY: [&str; 4] = ["spec", "template", "spec", "strategy"];

pub fn up(remediation: &mut Value) {
    if let Some(strategy) = at(remediation, &STRATEGY) {
        strategy_up(strategy);
    }
}

pub fn down(remediation: &mut Value) {
    if let Some(strategy) = at(remediation, &STRATEGY) {
        strategy_down(strategy);
    }
}

pub fn template_up(template: &mut Value) {
    if let Some(strategy) = at(template, &TEMPLATE_STRATEGY) {
        strategy_up(strategy);
    }
    require_inner_status(template);
}

pub fn template_down(template: &mut Value) {
    if let Some(strategy) = at(template, &TEMPLATE_STRATEGY) {
        strategy_down(strategy);
    }
    require_inner_status(template);
}

/// In v1beta1 the inner status must exist.
fn require_inner_status(template: &mut Value) {
    if let Some(status) = at(template, &["status"]) {
        status.entry("status").or_insert_with(|| json!({}));
    }
}

/// Whole seconds; the rest of the duration only returns with the conversion back.
fn strategy_up(strategy: &mut Fields) {
    let Some(timeout) = strategy.remove("timeout") else { return };
    if let Some(seconds) = timeout.as_str().and_then(seconds) {
        strategy.insert("timeoutSeconds".into(), seconds.into());
    }
}

/// Returns the whole seconds of a duration such as `10m0s`, at most the largest `int32`; `None` if it is no duration.
pub fn seconds(text: &str) -> Option<i32> {
    let seconds = parse_nanoseconds(text)? / SECOND;
    Some(i32::try_from(seconds).unwrap_or(if seconds < 0 { i32::MIN } else { i32::MAX }))
}

fn strategy_down(strategy: &mut Fields) {
    let Some(seconds) = strategy.remove("timeoutSeconds") else { return };
    if let Some(seconds) = seconds.as_i64() {
        strategy.insert("timeout".into(), of_seconds(seconds).into());
    }
}
