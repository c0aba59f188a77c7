//! Reads conditions of known and of other kinds.

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use serde_json::Value;

/// Conditions that are good when False.
const NEGATIVE: [&str; 7] =
    ["Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating"];

/// A condition of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub name: String,
    pub status: String,
    pub severity: String,
    pub reason: String,
    pub message: String,
    pub since: Option<DateTime<Utc>>,
}

impl Condition {
    fn read(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        value.as_object()?;
        let since = text("lastTransitionTime");
        Some(Self {
            name: text("type"),
            status: text("status"),
            severity: text("severity"),
            reason: text("reason"),
            message: text("message"),
            since: parse_rfc3339(&since),
        })
    }

    /// Whether the status True is good.
    pub fn positive(&self) -> bool {
        !NEGATIVE.contains(&self.name.as_str())
    }

    /// Whether the condition needs no attention: its status is good and it has no message.
    pub fn is_zero(&self) -> bool {
        let as_it_should_be = match self.status.as_str() {
            "True" => self.positive(),
            "False" => !self.positive(),
            "Unknown" => false,
            _ => true,
        };
        as_it_should_be && self.message.is_empty()
    }
}

/// Reads the conditions of an object. Objects of `known` kinds have them at the place that Cluster API's types define.
pub(super) fn read(object: &Value, known: bool, legacy: bool) -> Vec<Condition> {
    let pointers: &[&str] = match (known, legacy) {
        (true, false) => &["/status/conditions"],
        (true, true) => &["/status/deprecated/v1beta1/conditions"],
        (false, false) => &["/status/v1beta2/conditions", "/status/conditions"],
        (false, true) => &["/status/conditions"],
    };
    let found = pointers.iter().find_map(|pointer| object.pointer(pointer).and_then(Value::as_array));
    found.into_iter().flatten().filter_map(Condition::read).collect()
}

/// Whether two conditions are equal for grouping; two absent ones are equal too.
pub(super) fn same(a: Option<&Condition>, b: Option<&Condition>) -> bool {
    let key = |one: &Condition| (one.status.clone(), one.severity.clone(), one.reason.clone());
    a.map(key) == b.map(key)
}
