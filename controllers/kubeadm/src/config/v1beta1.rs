//! The conditions of a KubeadmConfig for clients of the API version v1beta1. Pure functions.

use chrono::{DateTime, Utc};
use engine::conditions::TRUE;
use engine::v1beta1::{self, Severity, is_false, is_true, summary};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::meta::{Condition, V1Beta1Condition};

use crate::names::condition::{CERTIFICATES_AVAILABLE, DATA_SECRET_AVAILABLE};

/// Sets these conditions. `config` has those of the present version.
pub fn set(config: &mut KubeadmConfig, now: DateTime<Utc>) {
    let found = [
        config.condition(DATA_SECRET_AVAILABLE).map(data_secret),
        config.condition(CERTIFICATES_AVAILABLE).map(certificates),
    ];
    let status = config.status.get_or_insert_default();
    let older = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    for condition in found.into_iter().flatten() {
        v1beta1::set(&mut older.conditions, now, condition);
    }
    if let Some(ready) = summary(&older.conditions, &[DATA_SECRET_AVAILABLE, CERTIFICATES_AVAILABLE]) {
        v1beta1::set(&mut older.conditions, now, ready);
    }
}

fn data_secret(condition: &Condition) -> V1Beta1Condition {
    let waits = |reason| is_false(DATA_SECRET_AVAILABLE, Severity::Info, reason, "");
    match condition.message.as_str() {
        _ if condition.status == TRUE => is_true(DATA_SECRET_AVAILABLE),
        text if text.contains("infrastructureProvisioned") => waits("WaitingForClusterInfrastructure"),
        text if text.contains("control plane to be initialized") => waits("WaitingForControlPlaneAvailable"),
        text => is_false(DATA_SECRET_AVAILABLE, Severity::Warning, "DataSecretGenerationFailed", text),
    }
}

fn certificates(condition: &Condition) -> V1Beta1Condition {
    if condition.status == TRUE {
        return is_true(CERTIFICATES_AVAILABLE);
    }
    is_false(CERTIFICATES_AVAILABLE, Severity::Error, "CertificatesCorrupted", condition.message.as_str())
}
