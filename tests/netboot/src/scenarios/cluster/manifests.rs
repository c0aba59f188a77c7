//! The manifests of a cluster with one control plane machine and one worker.

use serde_json::{Value, json};

use super::object;
use crate::images::Image;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// An argument that no kubelet knows.
pub(super) const WRONG_ARGUMENT: &str = "no-such-argument";

/// Returns a reference to a KubeadmConfigTemplate.
pub(super) fn config(name: &str) -> Value {
    json!({"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": name})
}

/// Returns the manifests. The worker's configuration has [`WRONG_ARGUMENT`].
pub(super) fn cluster(address: &str, image: &Image) -> Vec<Value> {
    let reference =
        |kind: &str, group: &str, name: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let mut image = image.spec();
    image["diskFormat"] = image["format"].take();
    if let Some(image) = image.as_object_mut() {
        image.remove("format");
    }
    let template = |role: &str| json!({"nodeReuse": true, "template": {"spec": {"image": image, "hostSelector": {"matchLabels": {"role": role}}}}});
    let node = json!({"nodeRegistration": {
        "name": "{{ ds.meta_data.name }}",
        "kubeletExtraArgs": [{"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}],
    }});
    let mut wrong = node.clone();
    wrong["nodeRegistration"]["kubeletExtraArgs"] = json!([{"name": WRONG_ARGUMENT, "value": "true"}]);
    vec![
        object(
            "Cluster",
            "first",
            json!({
                "controlPlaneRef": reference("KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "first-plane"),
                "infrastructureRef": reference("Metal3Cluster", INFRASTRUCTURE, "first"),
            }),
        ),
        object("Metal3Cluster", "first", json!({"controlPlaneEndpoint": {"host": address, "port": 6443}})),
        object(
            "KubeadmControlPlane",
            "first-plane",
            json!({
                "replicas": 1, "version": "v1.36.0",
                "machineTemplate": {"spec": {"infrastructureRef": reference("Metal3MachineTemplate", INFRASTRUCTURE, "first-plane")}},
                "kubeadmConfigSpec": {"initConfiguration": node, "joinConfiguration": node},
            }),
        ),
        object("Metal3MachineTemplate", "first-plane", template("control-plane")),
        object(
            "MachineDeployment",
            "first-md",
            json!({
                "clusterName": "first", "replicas": 1, "selector": {"matchLabels": {}},
                // There is no spare host for a rollout.
                "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
                "template": {"spec": {
                    "clusterName": "first", "version": "v1.36.0",
                    "bootstrap": {"configRef": config("wrong")},
                    "infrastructureRef": reference("Metal3MachineTemplate", INFRASTRUCTURE, "first-md"),
                }},
            }),
        ),
        object("Metal3MachineTemplate", "first-md", template("worker")),
        object(
            "KubeadmConfigTemplate",
            "first-md",
            json!({"template": {"spec": {"joinConfiguration": node}}}),
        ),
        object("KubeadmConfigTemplate", "wrong", json!({"template": {"spec": {"joinConfiguration": wrong}}})),
    ]
}
