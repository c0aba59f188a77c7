//! The rules of ReplicaSets.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::is_deleting;
use engine::{Action, batch};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::readiness::ready_since;

/// What is to be done.
pub struct Plan {
    /// The number of Pods to create.
    pub create: usize,
    /// The Pods to delete.
    pub delete: Vec<Arc<Pod>>,
    /// The wanted status.
    pub status: ReplicaSetStatus,
    /// When to look again: a Pod becomes available without an event.
    pub action: Action,
}

/// Plans for a set with its Pods.
pub fn plan(set: &ReplicaSet, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Plan {
    let spec = set.spec.clone();
    let replicas = spec.replicas.unwrap_or(1);
    let wanted = usize::try_from(replicas).unwrap_or_default();
    let has_ended = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Failed" | "Succeeded"))
    };
    let mut active: Vec<&Arc<Pod>> =
        pods.iter().filter(|pod| !is_deleting(pod.as_ref()) && !has_ended(pod)).collect();
    // Pods that are not ready go first, and of these the youngest.
    active.sort_by_key(|pod| {
        (ready_since(pod).is_some(), std::cmp::Reverse(pod.metadata.creation_timestamp.clone()))
    });
    let delete: Vec<Arc<Pod>> =
        active.iter().take(active.len().saturating_sub(wanted)).map(|pod| (*pod).clone()).collect();
    let least = TimeDelta::seconds(spec.min_ready_seconds.unwrap_or_default().into());
    let ready: Vec<DateTime<Utc>> = active.iter().filter_map(|pod| ready_since(pod)).collect();
    let available = ready.iter().filter(|since| **since + least <= now).count();
    let next = ready.iter().map(|since| *since + least).filter(|time| *time > now).min();
    let labels = spec
        .template
        .as_ref()
        .and_then(|template| template.metadata.as_ref()?.labels.clone())
        .unwrap_or_default();
    let is_labelled =
        |pod: &&&Arc<Pod>| labels.iter().all(|(key, value)| pod.labels().get(key) == Some(value));
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    Plan {
        create: batch::to_create(replicas, active.len()),
        delete,
        status: ReplicaSetStatus {
            replicas: number(active.len()),
            fully_labeled_replicas: Some(number(active.iter().filter(is_labelled).count())),
            ready_replicas: Some(number(ready.len())),
            available_replicas: Some(number(available)),
            observed_generation: set.metadata.generation,
            ..set.status.clone().unwrap_or_default()
        },
        action: next.map_or_else(Action::done, |next| {
            Action::requeue_after((next - now).to_std().unwrap_or(Duration::ZERO))
        }),
    }
}
