//! Conditions, of objects that are known and of any others.

use chrono::{DateTime, Utc};
use serde_json::Value;

/// Conditions that are good when they are False.
const NEGATIVE: [&str; 7] =
    ["Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating"];

/// One aspect of an object.
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
            since: DateTime::parse_from_rfc3339(&since).ok().map(|time| time.to_utc()),
        })
    }

    /// Whether True is good.
    pub fn positive(&self) -> bool {
        !NEGATIVE.contains(&self.name.as_str())
    }

    /// Nothing to say: as it should be, and no message.
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

/// The conditions of an object. `known` kinds have them where Cluster API's types have them.
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

/// Equal, as far as grouping goes: both absent is equal too.
pub(super) fn same(a: Option<&Condition>, b: Option<&Condition>) -> bool {
    let key = |one: &Condition| (one.status.clone(), one.severity.clone(), one.reason.clone());
    a.map(key) == b.map(key)
}
