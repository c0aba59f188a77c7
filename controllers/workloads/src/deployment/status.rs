//! The status of a Deployment: counters, `Available` and `Progressing`.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::Action;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};
use kube::ResourceExt;

/// The time that a rollout may take if the Deployment names none, in seconds.
const DEADLINE: i32 = 600;

/// Returns the status, and when it changes without an event.
pub fn status(
    deployment: &Deployment,
    current: Option<&Arc<ReplicaSet>>,
    sets: &[Arc<ReplicaSet>],
    now: DateTime<Utc>,
) -> (DeploymentStatus, Action) {
    let spec = deployment.spec.clone();
    let old = deployment.status.clone().unwrap_or_default();
    let wanted = spec.replicas.unwrap_or(1);
    let sum = |count: fn(&ReplicaSet) -> i32| sets.iter().map(|set| count(set)).sum::<i32>();
    let replicas = sum(running);
    let available = sum(available);
    let updated = current.map_or(0, |set| running(set));
    let is_available = available
        >= wanted
            - unavailable(
                &spec.strategy.clone().unwrap_or_default().rolling_update.unwrap_or_default().max_unavailable,
                wanted,
            );
    let is_complete = updated == wanted && replicas == wanted && available >= wanted;
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: Some(replicas).filter(|count| *count > 0),
        updated_replicas: Some(updated).filter(|count| *count > 0),
        ready_replicas: Some(sum(ready)).filter(|count| *count > 0),
        available_replicas: Some(available).filter(|count| *count > 0),
        unavailable_replicas: Some((replicas.max(wanted) - available).max(0)).filter(|count| *count > 0),
        conditions: old.conditions.clone(),
        ..old.clone()
    };
    let (yes, reason, message) = if is_available {
        (true, "MinimumReplicasAvailable", "Deployment has minimum availability.".to_owned())
    } else {
        (false, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.".to_owned())
    };
    set(&mut status, "Available", yes, reason, message, now);
    let name = current.map(|set| set.name_any()).unwrap_or_default();
    let has_moved = (status.replicas, status.updated_replicas, status.available_replicas)
        != (old.replicas, old.updated_replicas, old.available_replicas);
    let deadline = TimeDelta::seconds(spec.progress_deadline_seconds.unwrap_or(DEADLINE).into());
    let since = progressing(&old).map_or(now, |(_, since)| since);
    let mut action = Action::done();
    if is_complete {
        let message = format!("ReplicaSet \"{name}\" has successfully progressed.");
        set(&mut status, "Progressing", true, "NewReplicaSetAvailable", message, now);
    } else if has_moved || progressing(&old).is_none_or(|(reason, _)| reason == "NewReplicaSetAvailable") {
        set(
            &mut status,
            "Progressing",
            true,
            "ReplicaSetUpdated",
            format!("ReplicaSet \"{name}\" is progressing."),
            now,
        );
        action = Action::requeue_after(deadline.to_std().unwrap_or_default());
    } else if now - since >= deadline {
        let message = format!("ReplicaSet \"{name}\" has timed out progressing.");
        set(&mut status, "Progressing", false, "ProgressDeadlineExceeded", message, now);
    } else {
        action = Action::requeue_after((since + deadline - now).to_std().unwrap_or(Duration::ZERO));
    }
    (status, action)
}

fn progressing(status: &DeploymentStatus) -> Option<(String, DateTime<Utc>)> {
    let condition = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_.as_deref() == Some("Progressing"))?;
    let since = condition.last_update_time.as_ref().map(engine::time::utc).unwrap_or_default();
    Some((condition.reason.clone().unwrap_or_default(), since))
}

fn set(
    status: &mut DeploymentStatus,
    name: &str,
    is_true: bool,
    reason: &str,
    message: String,
    now: DateTime<Utc>,
) {
    let text = if is_true { "True" } else { "False" };
    let conditions = status.conditions.get_or_insert_default();
    let before = conditions.iter().position(|condition| condition.type_.as_deref() == Some(name));
    let before = before.map(|at| conditions.remove(at));
    let is_same = before.as_ref().is_some_and(|before| {
        before.status.as_deref() == Some(text)
            && before.reason.as_deref() == Some(reason)
            && before.message.as_deref() == Some(&message)
    });
    let time = Some(engine::time::time(now));
    let since = before
        .as_ref()
        .filter(|before| before.status.as_deref() == Some(text))
        .and_then(|before| before.last_transition_time.clone());
    conditions.push(DeploymentCondition {
        type_: Some(name.to_owned()),
        status: Some(text.to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_update_time: before.filter(|_| is_same).map_or(time.clone(), |before| before.last_update_time),
        last_transition_time: since.or(time),
    });
    conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
}

fn unavailable(
    value: &Option<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>,
    wanted: i32,
) -> i32 {
    super::rollout::part(value.clone(), wanted, false)
}

fn running(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map(|status| status.replicas).unwrap_or_default()
}

fn ready(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or_default()
}

fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or_default()
}
