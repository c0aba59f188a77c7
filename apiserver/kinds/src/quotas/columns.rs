//! Columns of ResourceQuotas.

use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column};

/// Returns the columns of a ResourceQuota.
pub(crate) fn quota() -> Vec<Column> {
    vec![
        NAME,
        column("Request", "Used and allowed requests.", |one, _| used(one, false)),
        column("Limit", "What is used of what limits may add up to.", |one, _| used(one, true)),
        AGE,
    ]
}

fn used(quota: &Value, limits: bool) -> Value {
    let (hard, used) = (&quota["status"]["hard"], &quota["status"]["used"]);
    let of_limits = |name: &str| name.starts_with("limits");
    let mut names: Vec<&String> = hard.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    names.retain(|name| of_limits(name) == limits);
    names.sort();
    let amount = |value: &Value| value.as_str().unwrap_or("0").to_owned();
    let shown = names.iter().map(|name| format!("{name}: {}/{}", amount(&used[*name]), amount(&hard[*name])));
    shown.collect::<Vec<_>>().join(", ").into()
}
