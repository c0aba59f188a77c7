//! PodDisruptionBudgets.

use super::counters;
use super::template::at_most_all;
use crate::fields::internal;
use crate::strategy::rules::{NONE, Rules};

/// `policy/v1` PodDisruptionBudget.
pub(crate) const BUDGET: Rules = Rules {
    validate: |object| {
        let spec = &object["spec"];
        let mut errors = Vec::new();
        if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
            let why = "minAvailable and maxUnavailable cannot be both set";
            errors.push(internal("spec".into(), "policy.PodDisruptionBudgetSpec", spec, why));
        }
        for field in ["minAvailable", "maxUnavailable"] {
            errors.extend(at_most_all(&spec[field], &format!("spec.{field}")));
        }
        errors
    },
    status: Some(counters::of_budget),
    ..NONE
};
