//! Columns of the kinds of `resource.k8s.io`.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or};

/// Returns the columns of a kind of the group.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    if group != "resource.k8s.io" {
        return None;
    }
    Some(match kind {
        "DeviceClass" | "ResourceClaimTemplate" => vec![NAME, AGE],
        "ResourceClaim" => vec![NAME, column("State", "Whether it is allocated and reserved.", claim), AGE],
        "ResourceSlice" => vec![
            NAME,
            column("Node", "The node that has the devices.", |one, _| node(one)),
            column("Driver", "The driver of the devices.", |one, _| text(one, &["spec", "driver"]).into()),
            column("Pool", "The pool they belong to.", |one, _| text(one, &["spec", "pool", "name"]).into()),
            AGE,
        ],
        _ => return None,
    })
}

pub(crate) fn claim(claim: &Value, _: DateTime<Utc>) -> Value {
    let status = &claim["status"];
    let mut states = Vec::new();
    if !text(claim, &["metadata", "deletionTimestamp"]).is_empty() {
        states.push("deleted");
    }
    if status["allocation"].is_null() {
        if states.is_empty() {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if status["reservedFor"].as_array().is_some_and(|list| !list.is_empty()) {
            states.push("reserved");
        }
    }
    states.join(",").into()
}

pub(crate) fn node(slice: &Value) -> Value {
    let spec = &slice["spec"];
    if spec["allNodes"] == true {
        return "<all>".into();
    }
    if spec["nodeSelector"].is_object() {
        return "<some>".into();
    }
    or(text(spec, &["nodeName"]), "<unset>")
}
