//! Leases.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::invalid;
use crate::strategy::Strategy;

/// The strategy of `coordination.k8s.io/v1.Lease`.
pub(crate) struct Leases;

impl Strategy for Leases {
    fn metadata_repeats(&self) -> (usize, usize) {
        (1, 0)
    }

    /// Drops the fields of coordinated leader election, a feature that is off by default.
    fn prepare_create(&self, object: &mut Value) {
        drop_coordination(object, &Value::Null);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        drop_coordination(object, old);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let spec = &object["spec"];
        if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
            errors.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
        }
        if let Some(transitions) = spec["leaseTransitions"].as_i64().filter(|count| *count < 0) {
            errors.push(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
        }
        errors
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

fn drop_coordination(object: &mut Value, old: &Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["preferredHolder", "strategy"] {
        if old["spec"][field].is_null() {
            spec.remove(field);
        }
    }
}
