//! The conditions of a MachinePool in the form of v1beta1, which older clients read.

use chrono::{DateTime, Utc};
use engine::conditions::FALSE;
use machinery::clock::rfc3339;
use schemas::cluster::MachinePool;
use schemas::meta::V1Beta1Condition;

use super::facts::{deprecated, was_provisioned};
use crate::v1beta1::{READY, Severity, is_false, is_true};

/// Sets `BootstrapReady`, `InfrastructureReady`, `ReplicasReady`, and `Ready`, which is their summary.
pub fn set(pool: &mut MachinePool, now: DateTime<Utc>) {
    let initialization = pool.status.as_ref().and_then(|status| status.initialization.clone());
    let is_bootstrapped = initialization.and_then(|it| it.bootstrap_data_secret_created) == Some(true);
    let wanted = pool.spec.replicas;
    let provisioned = was_provisioned(pool);
    let deprecated = deprecated(pool);
    let are_ready = provisioned && deprecated.ready_replicas == wanted;
    let parts = [
        condition("BootstrapReady", is_bootstrapped, "WaitingForDataSecret"),
        condition("InfrastructureReady", provisioned, "WaitingForInfrastructure"),
        condition("ReplicasReady", are_ready, "WaitingForReplicasReady"),
    ];
    let first = parts.iter().find(|condition| condition.status == FALSE);
    let ready = first.map_or_else(
        || is_true(READY),
        |first| V1Beta1Condition { type_: READY.to_owned(), ..first.clone() },
    );
    let mut all = vec![ready];
    all.extend(parts);
    let before = std::mem::take(&mut deprecated.conditions);
    deprecated.conditions = all
        .into_iter()
        .map(|condition| {
            let same = before.iter().find(|it| it.type_ == condition.type_ && it.status == condition.status);
            let time = same.map_or_else(|| rfc3339(now), |before| before.last_transition_time.clone());
            V1Beta1Condition { last_transition_time: time, ..condition }
        })
        .collect();
}

fn condition(type_: &str, status: bool, reason: &str) -> V1Beta1Condition {
    if status { is_true(type_) } else { is_false(type_, Severity::Info, reason, "") }
}
