//! Columns of Events.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{Column, NAME, age, column, wide};

pub(crate) fn event() -> Vec<Column> {
    vec![
        column("Last Seen", "When it happened last.", |event, now| age(last_seen(event), now)),
        column("Type", "Normal or Warning.", |event, _| text(event, &["type"]).into()),
        column("Reason", "Why it happened, in a word.", |event, _| text(event, &["reason"]).into()),
        column("Object", "What it is about.", |event, _| {
            let object = regarding(event);
            let (kind, name) = (text(object, &["kind"]), text(object, &["name"]));
            match (kind.is_empty(), name.is_empty()) {
                (true, _) => name.into(),
                (false, true) => kind.to_lowercase().into(),
                (false, false) => format!("{}/{name}", kind.to_lowercase()).into(),
            }
        }),
        wide(column("Subobject", "Which part of the object.", |event, _| {
            text(regarding(event), &["fieldPath"]).into()
        })),
        wide(column("Source", "Who reports it.", source)),
        column("Message", "What happened.", |event, _| {
            let message = text(event, &["message"]);
            let message = if message.is_empty() { text(event, &["note"]) } else { message };
            message.trim().into()
        }),
        wide(column("First Seen", "When it happened first.", |event, now| age(first_seen(event), now))),
        wide(column("Count", "How often it happened.", |event, _| {
            let counts = [&event["series"]["count"], &event["count"], &event["deprecatedCount"]];
            counts.into_iter().filter_map(Value::as_i64).find(|count| *count > 0).unwrap_or(1).into()
        })),
        wide(NAME),
    ]
}

/// Returns the object that an event is about, for both event APIs.
fn regarding(event: &Value) -> &Value {
    event.get("involvedObject").unwrap_or(&event["regarding"])
}

/// Returns the first non-empty text.
fn first<'a>(event: &'a Value, paths: &[&[&str]]) -> &'a str {
    paths.iter().map(|path| text(event, path)).find(|text| !text.is_empty()).unwrap_or_default()
}

fn first_seen(event: &Value) -> &str {
    first(event, &[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]])
}

fn last_seen(event: &Value) -> &str {
    let paths: [&[&str]; 3] =
        [&["series", "lastObservedTime"], &["lastTimestamp"], &["deprecatedLastTimestamp"]];
    let seen = first(event, &paths);
    if seen.is_empty() { first_seen(event) } else { seen }
}

fn source(event: &Value, _: DateTime<Utc>) -> Value {
    let source = event.get("source").unwrap_or(&event["deprecatedSource"]);
    let mut component = text(source, &["component"]);
    let mut host = text(source, &["host"]);
    if component.is_empty() && host.is_empty() {
        component = first(event, &[&["reportingComponent"], &["reportingController"]]);
        host = text(event, &["reportingInstance"]);
    }
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}
