//! What a kubelet writes into the status of a Pod. Pure functions.

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use machinery::clock::rfc3339;
use serde_json::{Map, Value, json};

/// The conditions of a Pod whose containers run.
const RUNNING: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// Returns the status of a Pod whose containers have just started, and with `ends` those of a Job have ended at once.
pub(super) fn started(pod: &Pod, ends: bool, now: DateTime<Utc>) -> Value {
    let spec = pod.spec.clone().unwrap_or_default();
    let time = rfc3339(now);
    let completed =
        json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}});
    let running = json!({"running": {"startedAt": time}});
    let status = |container: &Container, runs: bool, is_ready: bool| {
        json!({"name": container.name, "image": container.image, "imageID": "", "restartCount": 0,
               "ready": is_ready, "started": runs, "state": if runs { &running } else { &completed }})
    };
    let stays = |container: &Container| container.restart_policy.as_deref() == Some("Always");
    let initial = spec.init_containers.iter().flatten();
    let initial: Vec<Value> = initial
        .map(|container| {
            let runs = stays(container) && !ends;
            status(container, runs, runs || !stays(container))
        })
        .collect();
    let containers: Vec<Value> = spec.containers.iter().map(|one| status(one, !ends, !ends)).collect();
    let mut all = json!({
        "phase": if ends { "Succeeded" } else { "Running" },
        "startTime": time,
        "qosClass": quality(&spec),
        "conditions": conditions(pod, ends, &time),
        "containerStatuses": containers,
    });
    if !initial.is_empty() {
        all["initContainerStatuses"] = initial.into();
    }
    all
}

/// Returns the conditions: those that others have written stay.
fn conditions(pod: &Pod, ends: bool, time: &str) -> Vec<Value> {
    let others = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let others =
        others.filter(|condition| !RUNNING.contains(&condition.type_.as_str())).map(|one| json!(one));
    let own = RUNNING.iter().map(|kind| {
        let is_over = ends && matches!(*kind, "Ready" | "ContainersReady" | "PodReadyToStartContainers");
        let mut condition = json!({"type": kind, "status": if is_over { "False" } else { "True" },
                                   "lastProbeTime": null, "lastTransitionTime": time});
        if is_over && *kind != "PodReadyToStartContainers" {
            condition["reason"] = "PodCompleted".into();
        }
        condition
    });
    own.chain(others).collect()
}

/// Returns the status of a Pod whose deletion has begun, after its containers have ended.
pub(super) fn ended(status: &Value, now: DateTime<Utc>) -> Value {
    let time = rfc3339(now);
    let mut ended = Map::from_iter([("phase".to_owned(), json!("Succeeded"))]);
    for field in ["containerStatuses", "initContainerStatuses"] {
        let Some(containers) = status[field].as_array() else { continue };
        let over = containers.iter().cloned().map(|mut container| {
            let since = container["state"]["running"]["startedAt"].take();
            if since.is_string() {
                container["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": time}});
                (container["ready"], container["started"]) = (false.into(), false.into());
            }
            container
        });
        ended.insert(field.to_owned(), over.collect());
    }
    let conditions = status["conditions"].as_array().into_iter().flatten().cloned().map(|mut condition| {
        if matches!(condition["type"].as_str(), Some("Ready" | "ContainersReady"))
            && condition["status"] == "True"
        {
            condition["status"] = "False".into();
            condition["reason"] = "PodCompleted".into();
            condition["lastTransitionTime"] = time.as_str().into();
        }
        condition
    });
    ended.insert("conditions".to_owned(), conditions.collect());
    ended.into()
}

/// Returns the quality of service of a Pod.
fn quality(spec: &PodSpec) -> &'static str {
    let containers = || spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let amounts = |container: &Container| {
        let resources = container.resources.clone().unwrap_or_default();
        let counted = |list: Option<std::collections::BTreeMap<String, _>>| {
            let mut list = list.unwrap_or_default();
            list.retain(|name, _| matches!(name.as_str(), "cpu" | "memory"));
            list
        };
        (counted(resources.requests), counted(resources.limits))
    };
    let is_guaranteed = |container: &Container| {
        let (requests, limits) = amounts(container);
        limits.len() == 2 && requests.iter().all(|(name, amount)| limits.get(name) == Some(amount))
    };
    let is_free = |container: &Container| {
        let (requests, limits) = amounts(container);
        requests.is_empty() && limits.is_empty()
    };
    if containers().all(is_free) {
        "BestEffort"
    } else if containers().all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
