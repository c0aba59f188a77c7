//! Conversions by webhook that the calculation of field ownership needs.

use parking_lot::Mutex;
use serde_json::Value;

/// Conversions by webhook that the calculation of field ownership needs.
///
/// The calculation is synchronous. It records missing conversions here and continues with a wrong result, which is
/// discarded. Then the conversions are fetched (`write::ownership::convert_missing`) and the calculation is repeated.
#[derive(Debug, Default)]
pub struct Conversions(Mutex<Fetched>);

#[derive(Debug, Default, Clone)]
struct Fetched {
    /// The original object, the target version, and the converted object.
    done: Vec<(Value, String, Value)>,
    missing: Vec<(Value, String)>,
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

    /// Takes the objects that were missing, each with the version that it is wanted in.
    pub(crate) fn take_missing(&self) -> Vec<(Value, String)> {
        std::mem::take(&mut self.0.lock().missing)
    }

    /// Returns the number of conversions that were fetched.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().done.len()
    }

    /// Adds an object that was missing.
    pub(crate) fn add(&self, object: Value, api_version: String, converted: Value) {
        self.0.lock().done.push((object, api_version, converted));
    }
}
