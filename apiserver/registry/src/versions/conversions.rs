//! Conversions by webhook that the calculation of field ownership needs.

use parking_lot::Mutex;
use serde_json::Value;

/// Conversions by webhook that the calculation of field ownership needs.
///
/// The calculation is synchronous. It records missing conversions here and continues with a wrong result, which is
/// discarded. Then the conversions are fetched ([`Registry::convert_missing`]) and the calculation is repeated.
#[derive(Debug, Default)]
pub struct Conversions(pub(crate) Mutex<Fetched>);

#[derive(Debug, Default, Clone)]
pub(crate) struct Fetched {
    /// The original object, the target version, and the converted object.
    pub(crate) done: Vec<(Value, String, Value)>,
    pub(crate) missing: Vec<(Value, String)>,
}

impl Clone for Conversions {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl Conversions {
    pub(crate) fn find(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut fetched = self.0.lock();
        let found = fetched.done.iter().find(|(from, to, _)| to == api_version && from == object);
        if let Some((_, _, converted)) = found {
            return Some(converted.clone());
        }
        fetched.missing.push((object.clone(), api_version.to_owned()));
        None
    }
}
