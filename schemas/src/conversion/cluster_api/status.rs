//! Parts of the status that several kinds have.

use super::super::moves::Move::{self, Rename};

/// Conditions of both formats.
pub const CONDITIONS: Move = Move::All(&[
    Rename("/status/conditions", "/status/deprecated/v1beta1/conditions"),
    Rename("/status/v1beta2/conditions", "/status/conditions"),
]);

/// Failures, which `v1beta2` shows as conditions.
pub const FAILURES: Move = Move::All(&[
    Rename("/status/failureReason", "/status/deprecated/v1beta1/failureReason"),
    Rename("/status/failureMessage", "/status/deprecated/v1beta1/failureMessage"),
]);

/// Counters of machines, which mean something else in `v1beta2`.
pub const COUNTERS: Move = Move::All(&[
    Rename("/status/readyReplicas", "/status/deprecated/v1beta1/readyReplicas"),
    Rename("/status/availableReplicas", "/status/deprecated/v1beta1/availableReplicas"),
    Rename("/status/unavailableReplicas", "/status/deprecated/v1beta1/unavailableReplicas"),
    Rename("/status/updatedReplicas", "/status/deprecated/v1beta1/updatedReplicas"),
    Rename("/status/fullyLabeledReplicas", "/status/deprecated/v1beta1/fullyLabeledReplicas"),
    Rename("/status/v1beta2/readyReplicas", "/status/readyReplicas"),
    Rename("/status/v1beta2/availableReplicas", "/status/availableReplicas"),
    Rename("/status/v1beta2/upToDateReplicas", "/status/upToDateReplicas"),
]);
