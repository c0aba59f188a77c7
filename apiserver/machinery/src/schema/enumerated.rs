//! Membership of a value in an `enum`.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::equality::same;

/// From this length on, values are looked up in a set instead of compared one by one.
const LONG: usize = 16;

/// The values of a long `enum` as text, collected at the first use. Equality and cloning ignore them, because they
/// derive from the schema.
#[derive(Debug, Default)]
pub struct Enumerated(OnceLock<HashSet<String>>);

impl Clone for Enumerated {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Enumerated {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Enumerated {
    /// Returns whether `value` is in `allowed`, which must be the same list in every call.
    pub(super) fn contains(&self, allowed: &[Value], value: &Value) -> bool {
        if allowed.len() < LONG {
            return allowed.iter().any(|candidate| same(candidate, value));
        }
        self.0.get_or_init(|| allowed.iter().map(Value::to_string).collect()).contains(&value.to_string())
    }
}
