//! Whether a value is one of an `enum`.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::equality::same;

/// Longer ones are looked up, shorter ones are compared one by one.
const LONG: usize = 16;

/// The values of a long `enum` as text, made when first needed. Equality and cloning ignore it: it derives from the schema.
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
    /// Whether `value` is one of `allowed`, which are always the same ones.
    pub(super) fn contains(&self, allowed: &[Value], value: &Value) -> bool {
        if allowed.len() < LONG {
            return allowed.iter().any(|candidate| same(candidate, value));
        }
        self.0.get_or_init(|| allowed.iter().map(Value::to_string).collect()).contains(&value.to_string())
    }
}
