//! The objects of the benchmarks.

use serde_json::{Value, json};

/// Returns a CustomResourceDefinition with about 60 fields, similar to a Machine's.
pub fn definition() -> Value {
    let text = json!({"type": "string"});
    let fields: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("field{n}"), text.clone())).collect();
    let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "loads.bench.test"},
        "spec": {
            "group": "bench.test", "scope": "Namespaced",
            "names": {"plural": "loads", "singular": "load", "kind": "Load", "listKind": "LoadList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields},
                    "status": {"type": "object", "properties": {
                        "phase": text,
                        "conditions": {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
                    }},
                }}}}],
        },
    })
}

/// The path of these objects.
pub const LOADS: &str = "/apis/bench.test/v1/namespaces/default/loads";

/// Returns an object of about 3.4 KB.
pub fn load(number: usize) -> Value {
    let fields: serde_json::Map<String, Value> = (0..40)
        .map(|n| (format!("field{n}"), Value::from(format!("{number:06}-{n:02}-{}", "x".repeat(56)))))
        .collect();
    json!({"apiVersion": "bench.test/v1", "kind": "Load",
           "metadata": {"name": format!("load-{number:06}"), "labels": {"shard": format!("{}", number % 10)}},
           "spec": fields})
}

/// Returns an object of about 11 KB, including its `managedFields`.
pub fn large(number: usize) -> Value {
    let mut object = load(number);
    for n in 0..40 {
        object["spec"][format!("field{n}")] = format!("{number:06}-{n:02}-{}", "x".repeat(210)).into();
    }
    object
}

/// Returns the plain cluster of the comparison: `control_plane` + `workers` machines, with start-up durations
/// 10+2+2+2 s or zero, without jitter.
pub fn cluster(
    name: &str,
    control_plane: i64,
    workers: i64,
    version: &str,
    slow: bool,
) -> Vec<(String, Value)> {
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
    const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
    const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
    let reference =
        |group: &str, kind: &str, name: String| json!({"apiGroup": group, "kind": kind, "name": name});
    let part = |seconds: u32| json!({"provisioning": {"startupDuration": format!("{}s", if slow { seconds } else { 0 })}});
    let machine = || json!({"template": {"spec": {"backend": {"inMemory": {"vm": part(10), "node": part(2), "etcd": part(2), "apiServer": part(2)}}}}});
    let object = |group: &str, kind: &str, plural: &str, name: String, spec: Value| {
        let path = format!("/apis/{group}/v1beta2/namespaces/default/{plural}");
        (
            path,
            json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}),
        )
    };
    let core = "cluster.x-k8s.io";
    let registration =
        json!({"nodeRegistration": {"criSocket": "unix:///var/run/containerd/containerd.sock"}});
    let pool = format!("{name}-md");
    vec![
        object(INFRASTRUCTURE, "DevMachineTemplate", "devmachinetemplates", format!("{name}-cp"), machine()),
        object(INFRASTRUCTURE, "DevMachineTemplate", "devmachinetemplates", pool.clone(), machine()),
        object(
            BOOTSTRAP,
            "KubeadmConfigTemplate",
            "kubeadmconfigtemplates",
            pool.clone(),
            json!({"template": {"spec": {"joinConfiguration": registration}}}),
        ),
        object(
            INFRASTRUCTURE,
            "DevCluster",
            "devclusters",
            name.to_owned(),
            json!({"backend": {"inMemory": {}}}),
        ),
        object(
            CONTROL_PLANE,
            "KubeadmControlPlane",
            "kubeadmcontrolplanes",
            format!("{name}-cp"),
            json!({
            "replicas": control_plane, "version": version,
            "machineTemplate": {"spec": {"infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", format!("{name}-cp"))}},
            "kubeadmConfigSpec": {"initConfiguration": registration, "joinConfiguration": registration}}),
        ),
        object(
            core,
            "Cluster",
            "clusters",
            name.to_owned(),
            json!({
            "controlPlaneRef": reference(CONTROL_PLANE, "KubeadmControlPlane", format!("{name}-cp")),
            "infrastructureRef": reference(INFRASTRUCTURE, "DevCluster", name.to_owned())}),
        ),
        object(
            core,
            "MachineDeployment",
            "machinedeployments",
            pool.clone(),
            json!({
            "clusterName": name, "replicas": workers, "selector": {"matchLabels": {"pool": pool}},
            "template": {"metadata": {"labels": {"pool": pool}}, "spec": {"clusterName": name, "version": version,
                "bootstrap": {"configRef": reference(BOOTSTRAP, "KubeadmConfigTemplate", pool.clone())},
                "infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", pool.clone())}}}),
        ),
    ]
}
