//! Metal3Data and Metal3DataClaim.

use serde_json::{Value, json};

use super::super::fields::{Fields, at, drop_empty, shorten_reference};

pub fn up(data: &mut Value) {
    let Some(spec) = at(data, &["spec"]) else { return };
    spec.remove("templateReference");
    spec.entry("index").or_insert_with(|| json!(0));
    shorten_reference(spec, "claim");
    shorten_reference(spec, "template");
}

pub fn down(data: &mut Value) {
    let Some(spec) = at(data, &["spec"]) else { return };
    // Go does not write the index 0 in v1beta1.
    if spec.get("index") == Some(&json!(0)) {
        spec.remove("index");
    }
    require_reference(spec, "claim");
    require_reference(spec, "template");
}

pub fn claim_up(claim: &mut Value) {
    if let Some(spec) = at(claim, &["spec"]) {
        shorten_reference(spec, "template");
    }
    if let Some(status) = at(claim, &["status"]) {
        shorten_reference(status, "renderedData");
    }
}

pub fn claim_down(claim: &mut Value) {
    if let Some(spec) = at(claim, &["spec"]) {
        require_reference(spec, "template");
    }
    if let Some(status) = at(claim, &["status"]) {
        drop_empty(status, "renderedData");
    }
}

/// In v1beta1 the reference must exist, if only without fields.
fn require_reference(spec: &mut Fields, name: &str) {
    spec.entry(name).or_insert_with(|| json!({}));
}
