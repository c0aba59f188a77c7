//! Conversion between the `events.k8s.io` and core versions of Event. They are the same objects, stored in the core
//! version.

use serde_json::{Map, Value};

/// Fields with different names: core, `events.k8s.io`.
const NAMES: [(&str, &str); 6] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
];

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}

/// Converts from the stored core version.
pub fn from_core(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    for (core, new) in NAMES {
        rename(map, core, new);
    }
    rename(map, "count", "deprecatedCount");
    // `events.k8s.io` omits these fields when they are empty, the core version does not.
    for field in ["reportingController", "reportingInstance", "action", "reason", "note"] {
        if map.get(field).is_some_and(|value| value == "") {
            map.remove(field);
        }
    }
    map.insert("apiVersion".into(), "events.k8s.io/v1".into());
}

/// Converts to the stored core version.
pub fn to_core(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    for (core, new) in NAMES {
        rename(map, new, core);
    }
    rename(map, "deprecatedCount", "count");
    for field in ["reportingComponent", "reportingInstance"] {
        map.entry(field).or_insert("".into());
    }
    map.insert("apiVersion".into(), "v1".into());
}
