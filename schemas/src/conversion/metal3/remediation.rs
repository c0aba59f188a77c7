//! Metal3Remediation and Metal3RemediationTemplate.

use machinery::duration::of_seconds;
use serde_json::{Value, json};

use super::super::fields::{Fields, at};
use super::super::seconds::whole_seconds;

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
    if let Some(seconds) = timeout.as_str().and_then(whole_seconds) {
        strategy.insert("timeoutSeconds".into(), seconds.into());
    }
}

fn strategy_down(strategy: &mut Fields) {
    let Some(seconds) = strategy.remove("timeoutSeconds") else { return };
    if let Some(seconds) = seconds.as_i64() {
        strategy.insert("timeout".into(), of_seconds(seconds).into());
    }
}
