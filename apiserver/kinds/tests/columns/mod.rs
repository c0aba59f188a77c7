//! Tests of the columns of `kubectl get`.

mod nodes;
mod pods;
mod quotas;
mod workloads;

use kinds::columns;
use machinery::clock::parse_rfc3339;
use serde_json::Value;

/// The current time in these tests.
const NOW: &str = "2026-01-01T00:01:00Z";

/// Returns the cells of `object` at [`NOW`].
fn cells(group: &str, kind: &str, object: &Value) -> Vec<Value> {
    let now = parse_rfc3339(NOW).unwrap();
    columns(group, kind).unwrap().iter().map(|column| (column.cell)(object, now)).collect()
}
