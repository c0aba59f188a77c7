//! ServiceAccounts.

use serde_json::Value;

use crate::strategy::Strategy;

/// The strategy of `v1.ServiceAccount`.
pub(crate) struct ServiceAccounts;

/// Removes all fields except `name` from the references to secrets.
fn clean(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(secret) = secret.as_object_mut() {
            secret.retain(|key, _| key == "name");
        }
    }
}

impl Strategy for ServiceAccounts {
    fn metadata_repeats(&self) -> (usize, usize) {
        (2, 2)
    }

    fn prepare_create(&self, object: &mut Value) {
        clean(object);
    }

    fn prepare_update(&self, object: &mut Value, _old: &Value) {
        clean(object);
    }

    fn delete_returns_object(&self) -> bool {
        true
    }
}
