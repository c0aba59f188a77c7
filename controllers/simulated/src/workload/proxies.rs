//! The Pods of kube-proxy, one on each Node, which the controller of DaemonSets would make.

use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use machinery::status::Status;
use serde_json::{Value, json};

use super::api::{Api, Place};
use crate::names::KUBE_SYSTEM;

/// The DaemonSet of kube-proxy, which `kubeadm init` makes.
const DAEMON_SET: Place<'static> =
    Place { group: "apps", plural: "daemonsets", namespace: KUBE_SYSTEM, name: KUBE_PROXY };
const KUBE_PROXY: &str = "kube-proxy";

/// Returns the name of the Pod on a Node.
fn name(node: &str) -> String {
    format!("{KUBE_PROXY}-{node}")
}

fn pod(node: &str, set: &Value, now: DateTime<Utc>) -> Value {
    let time = rfc3339(now);
    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": KUBE_SYSTEM,
            "name": name(node),
            "labels": {"k8s-app": KUBE_PROXY},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": KUBE_PROXY,
                                 "uid": set["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {"nodeName": node, "containers": [{"name": KUBE_PROXY, "image": image}],
                 "tolerations": [{"operator": "Exists"}]},
        "status": {
            "phase": "Running",
            "startTime": time,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}],
            "containerStatuses": [{"name": KUBE_PROXY, "image": image, "imageID": "",
                                   "ready": true, "started": true, "restartCount": 0,
                                   "state": {"running": {"startedAt": time}}}],
        },
    })
}

/// Makes the Pods on these Nodes, once the DaemonSet is there.
///
/// # Errors
/// Returns the errors of the API.
pub(super) async fn ensure(
    api: &Api,
    nodes: impl IntoIterator<Item = String>,
    now: DateTime<Utc>,
) -> Result<(), Status> {
    let Some(set) = api.get(DAEMON_SET).await else { return Ok(()) };
    for node in nodes {
        if api.get(Place::pod(KUBE_SYSTEM, &name(&node))).await.is_none() {
            api.ensure(pod(&node, &set, now)).await?;
        }
    }
    Ok(())
}

/// Deletes the Pod on a Node.
///
/// # Errors
/// Returns the errors of the API.
pub(super) async fn remove(api: &Api, node: &str) -> Result<(), Status> {
    api.delete(Place::pod(KUBE_SYSTEM, &name(node))).await
}
