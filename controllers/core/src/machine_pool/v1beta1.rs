//! The conditions of a MachinePool for clients of the API version v1beta1.

use chrono::{DateTime, Utc};
use engine::v1beta1::{self, Severity, is_false, is_true, summary};
use schemas::cluster::MachinePool;
use schemas::meta::V1Beta1Condition;

use super::facts::{deprecated, was_provisioned};

const BOOTSTRAP_READY: &str = "BootstrapReady";
const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
const REPLICAS_READY: &str = "ReplicasReady";

/// Sets these conditions.
pub fn set(pool: &mut MachinePool, now: DateTime<Utc>) {
    let initialization = pool.status.as_ref().and_then(|status| status.initialization.clone());
    let is_bootstrapped = initialization.and_then(|it| it.bootstrap_data_secret_created) == Some(true);
    let wanted = pool.spec.replicas;
    let provisioned = was_provisioned(pool);
    let deprecated = deprecated(pool);
    let are_ready = provisioned && deprecated.ready_replicas == wanted;
    let conditions = &mut deprecated.conditions;
    for condition in [
        condition(BOOTSTRAP_READY, is_bootstrapped, "WaitingForDataSecret"),
        condition(INFRASTRUCTURE_READY, provisioned, "WaitingForInfrastructure"),
        condition(REPLICAS_READY, are_ready, "WaitingForReplicasReady"),
    ] {
        v1beta1::set(conditions, now, condition);
    }
    if let Some(ready) = summary(conditions, &[BOOTSTRAP_READY, INFRASTRUCTURE_READY, REPLICAS_READY]) {
        v1beta1::set(conditions, now, ready);
    }
}

fn condition(type_: &str, status: bool, reason: &str) -> V1Beta1Condition {
    if status { is_true(type_) } else { is_false(type_, Severity::Info, reason, "") }
}
