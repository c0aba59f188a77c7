//! What happens to a Pod: it gets a Node, it runs there, and it goes with the Node.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::owners;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use machinery::clock::rfc3339;
use machinery::status::Status;
use serde_json::{Value, json};

use super::key::{Key, Outcome};
use super::objects::Objects;
use super::view::{View, has_ended, node_of, phase};
use super::{kubelet, scheduler};

const SCHEDULER: &str = "default-scheduler";
const SCHEDULED: &str = "PodScheduled";

/// Brings a Pod further.
pub(super) async fn reconcile(objects: &Objects, view: &mut View, key: &Key) -> Outcome {
    let name = (key.namespace.clone(), key.name.clone());
    let Some(pod) = view.pods.get(&name).cloned() else { return Ok(None) };
    let node = node_of(&pod);
    if view.orphans.contains(&name) {
        collect(objects, key, &pod).await?;
        view.orphans.remove(&name);
    } else if is_deleting(pod.as_ref()) {
        if phase(&pod) == "Running" && node.is_some_and(|node| view.nodes.contains_key(node)) {
            end(objects, key).await?;
        }
    } else if let Some(node) = node {
        if phase(&pod) == "Pending" && view.nodes.contains_key(node) {
            start(objects, key).await?;
        }
    } else if is_waiting(&pod) {
        schedule(objects, view, key, &pod).await?;
    }
    Ok(None)
}

/// Chooses the Node of a Pod, or says in its condition why there is none.
async fn schedule(objects: &Objects, view: &View, key: &Key, pod: &Arc<Pod>) -> Result<(), Status> {
    let spec = pod.spec.clone().unwrap_or_default();
    if spec.scheduler_name.as_deref().is_some_and(|name| !name.is_empty() && name != SCHEDULER) {
        return Ok(());
    }
    let is_gated = spec.scheduling_gates.is_some_and(|gates| !gates.is_empty());
    let choice = match is_gated {
        true => {
            Err(("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates".to_owned()))
        }
        false => scheduler::choose(pod, &view.nodes, &view.pods).map_err(|why| ("Unschedulable", why)),
    };
    match choice {
        // The Pod must still be the one for which the Node was chosen.
        Ok(node) => {
            let patch = json!({"metadata": {"uid": pod.uid()}, "spec": {"nodeName": node}});
            objects.api.merge(key.place(), patch).await
        }
        Err((reason, message)) => refuse(objects, key, reason, message).await,
    }
}

/// Says why a Pod has no Node.
async fn refuse(objects: &Objects, key: &Key, reason: &str, message: String) -> Result<(), Status> {
    let Some(pod) = objects.get::<Pod>(key).filter(is_waiting) else { return Ok(()) };
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let before = conditions.iter().find(|condition| condition.type_ == SCHEDULED);
    if before.is_some_and(|before| {
        before.reason.as_deref() == Some(reason) && before.message.as_ref() == Some(&message)
    }) {
        return Ok(());
    }
    let since =
        before.filter(|before| before.status == "False").map(|before| json!(before.last_transition_time));
    let since = since.unwrap_or_else(|| rfc3339(objects.now()).into());
    let condition = json!({"type": SCHEDULED, "status": "False", "reason": reason, "message": message,
                           "lastProbeTime": null, "lastTransitionTime": since});
    let others = conditions.iter().filter(|condition| condition.type_ != SCHEDULED).map(|one| json!(one));
    let all: Vec<Value> = others.chain([condition]).collect();
    write(objects, key, &pod, json!({"conditions": all})).await
}

/// Writes the status of a Pod that is as it was read.
async fn write(objects: &Objects, key: &Key, pod: &Pod, status: Value) -> Result<(), Status> {
    let version = &pod.metadata.resource_version;
    let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
    objects.api.merge_status(key.place(), patch).await
}

/// Returns whether a Pod waits for a Node.
fn is_waiting(pod: &Pod) -> bool {
    node_of(pod).is_none() && phase(pod) == "Pending" && !is_deleting(pod)
}

/// Runs the containers of a Pod. Those of a Job have nothing to do.
async fn start(objects: &Objects, key: &Key) -> Result<(), Status> {
    let pod = objects.get::<Pod>(key).filter(|pod| phase(pod) == "Pending" && !is_deleting(pod));
    let Some(pod) = pod else { return Ok(()) };
    let ends = owners::controller(&pod).is_some_and(|owner| owner.kind == "Job");
    write(objects, key, &pod, kubelet::started(&pod, ends, objects.now())).await
}

/// Ends the containers of a Pod that something holds although its deletion has begun.
async fn end(objects: &Objects, key: &Key) -> Result<(), Status> {
    let Some(pod) = objects.get::<Value>(key) else { return Ok(()) };
    let status = kubelet::ended(&pod["status"], objects.now());
    objects.api.merge_status(key.place(), json!({"status": status})).await
}

/// Deletes a Pod whose Node is gone, as the garbage collector of Pods does.
async fn collect(objects: &Objects, key: &Key, pod: &Pod) -> Result<(), Status> {
    if !has_ended(pod) {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref());
        let status = json!({"phase": "Failed", "conditions": disrupted(conditions.map(|all| json!(all)), objects.now())});
        objects.api.merge_status(key.place(), json!({"status": status})).await?;
    }
    objects.delete_pod(pod).await
}

fn disrupted(conditions: Option<Value>, now: DateTime<Utc>) -> Vec<Value> {
    let before = conditions.and_then(|all| all.as_array().cloned()).unwrap_or_default();
    let others = before.into_iter().filter(|condition| condition["type"] != "DisruptionTarget");
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists", "lastProbeTime": null, "lastTransitionTime": rfc3339(now)});
    others.chain([condition]).collect()
}
