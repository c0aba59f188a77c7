//! Table columns of built-in kinds whose cells are computed, as in kube-apiserver's printers.

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

/// Computes one cell.
pub type Compute = fn(&Value, DateTime<Utc>) -> Value;

/// One column: heading, type, format, description, priority, cell.
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// `string`, `integer`, `boolean`, `date`
    pub kind: &'static str,
    /// `name` for the name, else empty.
    pub format: &'static str,
    /// For clients that explain.
    pub description: &'static str,
    /// 0: always shown. Greater: only shown with `-o wide`.
    pub priority: i64,
    /// Computes the cell of an object, as of that time.
    pub cell: Compute,
}

pub(crate) const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "Unique among the objects of this kind in its namespace.",
    priority: 0,
    cell: |object, _| machinery::meta::name(object).into(),
};

pub(crate) const AGE: Column = column("Age", "How long the object has existed.", |object, now| {
    age(text(object, &["metadata", "creationTimestamp"]), now)
});

pub(crate) const CREATED: Column = Column {
    kind: "date",
    ..column("Created At", "When the object was created.", |object, _| {
        text(object, &["metadata", "creationTimestamp"]).into()
    })
};

pub(crate) const fn column(name: &'static str, description: &'static str, cell: Compute) -> Column {
    Column { name, kind: "string", format: "", description, priority: 0, cell }
}

pub(crate) const fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

pub(crate) fn count(object: &Value, field: &str) -> usize {
    object[field].as_object().map_or(0, serde_json::Map::len)
}

pub(crate) fn age(time: &str, now: DateTime<Utc>) -> Value {
    parse_rfc3339(time).map_or_else(|| "<unknown>".into(), |time| human_duration(now - time).into())
}

/// Returns `text`, or `otherwise` if it is empty.
pub(crate) fn or(text: &str, otherwise: &str) -> Value {
    if text.is_empty() { otherwise } else { text }.into()
}

/// Returns a number from the status; 0 if absent.
pub(crate) fn number(object: &Value, field: &str) -> Value {
    object["status"][field].as_i64().unwrap_or_default().into()
}

pub(crate) fn counter(name: &'static str, description: &'static str, cell: Compute) -> Column {
    Column { kind: "integer", ..column(name, description, cell) }
}

/// Returns a number or string as text, without quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
