//! Compares `convert` with the results of clusterctl 1.14 for the same manifests, and tests the fields that clusterctl loses.

#![allow(clippy::unwrap_used, reason = "tests")]

use clusterctl::convert::manifests;
use clusterctl::yaml;
use serde_json::{Value, json};

fn read(text: &[u8]) -> Vec<Value> {
    yaml::split(text).into_iter().map(|document| yaml::read(&document).unwrap()).collect()
}

/// Removes values that clusterctl writes although they were not set: booleans that are false, and status fields with zeros.
fn without_zeros(value: &mut Value) {
    const FALSE: [&str; 7] = [
        "paused",
        "infrastructureCluster",
        "uniqueItems",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| !(FALSE.contains(&name.as_str()) && *value == false));
            let zeros =
                |status: &Value| status.as_object().is_some_and(|all| all.values().all(|one| *one == 0));
            fields.retain(|name, value| !(name == "status" && zeros(value)));
            fields.values_mut().for_each(without_zeros);
        }
        Value::Array(items) => items.iter_mut().for_each(without_zeros),
        _ => {}
    }
}

#[test]
fn what_clusterctl_converts_without_loss_means_the_same() {
    let converted = manifests(include_bytes!("data/convert/v1beta1.yaml")).unwrap();
    assert_eq!((converted.converted, converted.unchanged), (5, 0));
    let mut expected = read(include_bytes!("data/convert/clusterctl.yaml"));
    expected.iter_mut().for_each(without_zeros);
    let ours = read(converted.text.as_bytes());
    // clusterctl leaves kubeadm's kinds as they are.
    let plane = expected.iter().position(|object| object["kind"] == "KubeadmControlPlane").unwrap();
    let text = serde_json::to_string(&expected[plane]).unwrap();
    expected[plane] = read(manifests(text.as_bytes()).unwrap().text.as_bytes()).remove(0);
    assert_eq!(expected[plane]["apiVersion"], "controlplane.cluster.x-k8s.io/v1beta2");
    for (ours, expected) in ours.iter().zip(&expected) {
        assert_eq!(
            serde_json::to_string_pretty(ours).unwrap(),
            serde_json::to_string_pretty(expected).unwrap()
        );
    }
    assert_eq!(ours.len(), expected.len());
    // Objects of the newest version are left unchanged.
    let again = manifests(converted.text.as_bytes()).unwrap();
    assert_eq!((again.converted, again.unchanged), (0, 5));
    assert_eq!(again.text, converted.text);
}

fn object(kind: &str, version: &str, rest: Value) -> Value {
    let mut object =
        json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": kind, "metadata": {"name": "a"}});
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

fn old_machine() -> Value {
    let reference = |group: &str, kind: &str| json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta1"), "kind": kind, "name": "n", "namespace": "default", "uid": "1"});
    json!({
        "clusterName": "c", "version": "v1.30.0", "failureDomain": "f", "nodeDrainTimeout": "90s", "nodeDeletionTimeout": "0s",
        "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate")},
        "infrastructureRef": reference("infrastructure", "DevMachineTemplate"),
    })
}

fn new_machine() -> Value {
    json!({
        "clusterName": "c", "version": "v1.30.0", "failureDomain": "f",
        "deletion": {"nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 0},
        "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "n"}},
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "n"},
    })
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// For each kind: its fields before and after the conversion.
fn table() -> Vec<(&'static str, Value, Value)> {
    let condition = json!({"type": "Ready", "status": "True", "severity": "Info"});
    let newer = json!({"type": "Available", "status": "True", "reason": "Fine"});
    let template = json!({"spec": old_machine()});
    let seven = json!({"spec": with(new_machine(), "minReadySeconds", json!(7))});
    vec![
        (
            "Machine",
            json!({"spec": old_machine(), "status": {
                "nodeRef": {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "2"},
                "bootstrapReady": true, "infrastructureReady": true, "failureReason": "R", "phase": "Running",
                "conditions": [condition], "v1beta2": {"conditions": [newer]},
            }}),
            json!({"spec": new_machine(), "status": {
                "nodeRef": {"name": "node"},
                "initialization": {"bootstrapDataSecretCreated": true, "infrastructureProvisioned": true},
                "phase": "Running", "conditions": [newer],
                "deprecated": {"v1beta1": {"conditions": [condition], "failureReason": "R"}},
            }}),
        ),
        (
            "MachineDeployment",
            json!({"spec": {
                "template": template, "replicas": 2, "minReadySeconds": 7, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 1,
                "rolloutAfter": "2024-01-01T00:00:00Z", "machineNamingStrategy": {"template": "t"},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "deletePolicy": "Oldest"}, "remediation": {"maxInFlight": 3}},
            }, "status": {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "v1beta2": {"readyReplicas": 2, "upToDateReplicas": 2}}}),
            json!({"spec": {
                "template": seven, "replicas": 2, "machineNaming": {"template": "t"}, "deletion": {"order": "Oldest"}, "remediation": {"maxInFlight": 3},
                "rollout": {"after": "2024-01-01T00:00:00Z", "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            }, "status": {"replicas": 2, "readyReplicas": 2, "upToDateReplicas": 2, "deprecated": {"v1beta1": {"readyReplicas": 1, "updatedReplicas": 2}}}}),
        ),
        (
            "MachineDeployment",
            json!({"spec": {"template": template, "minReadySeconds": 0, "strategy": {"rollingUpdate": {"deletePolicy": "Newest"}}}}),
            json!({"spec": {"template": {"spec": with(new_machine(), "minReadySeconds", json!(0))}, "deletion": {"order": "Newest"}}}),
        ),
        (
            "MachineSet",
            json!({"spec": {"template": template, "deletePolicy": "Random", "minReadySeconds": 7}, "status": {"fullyLabeledReplicas": 1}}),
            json!({"spec": {"template": seven, "deletion": {"order": "Random"}}, "status": {"deprecated": {"v1beta1": {"fullyLabeledReplicas": 1}}}}),
        ),
        (
            "MachinePool",
            json!({"spec": {"template": template, "minReadySeconds": 7, "providerIDList": ["p"]}, "status": {"bootstrapReady": true, "infrastructureReady": false}}),
            json!({"spec": {"template": seven, "providerIDList": ["p"]}, "status": {"initialization": {"bootstrapDataSecretCreated": true}}}),
        ),
        (
            "Cluster",
            json!({
                "spec": {"controlPlaneRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "K", "name": "k", "namespace": "x"}, "infrastructureRef": {}},
                "status": {"infrastructureReady": true, "controlPlaneReady": true, "failureDomains": {"b": {"controlPlane": true}, "a": {}}},
            }),
            json!({
                "spec": {"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "K", "name": "k"}},
                "status": {"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
                    "failureDomains": [{"name": "a", "controlPlane": false}, {"name": "b", "controlPlane": true}]},
            }),
        ),
    ]
}

#[test]
fn nothing_is_lost() {
    for (kind, old, new) in table() {
        let old = object(kind, "v1beta1", old).to_string();
        let converted = manifests(old.as_bytes()).unwrap();
        assert_eq!(converted.converted, 1, "{kind}");
        assert_eq!(read(converted.text.as_bytes()), [object(kind, "v1beta2", new)]);
    }
}

#[test]
fn what_cannot_be_converted_is_named() {
    let machine = object("Machine", "v1beta1", json!({"spec": {"nodeDrainTimeout": "soon"}}));
    let error = manifests(machine.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error,
        "conversion failed: failed to convert resource cluster.x-k8s.io/v1beta1, Kind=Machine at index 0: spec.nodeDrainTimeout: Invalid value: \"soon\": must be a duration, such as 600s or 10m"
    );
    let unknown = object("Comet", "v1beta1", json!({}));
    let converted = manifests(unknown.to_string().as_bytes()).unwrap();
    assert_eq!((converted.converted, converted.unchanged), (0, 1));
}

#[test]
fn kinds_of_kubeadm_and_items_of_lists_are_converted() {
    let config = json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"v": "4"}}}}}},
    });
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let machine = || json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachine", "metadata": {"name": "a"}});
    let set = json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta1", "kind": "ClusterResourceSet", "metadata": {"name": "a"},
        "spec": {"clusterSelector": {"matchLabels": {"a": "b"}}, "resources": [{"kind": "Secret", "name": "s"}]}});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [config, map, machine(), set]});
    let converted = manifests(list.to_string().as_bytes()).unwrap();
    assert_eq!((converted.converted, converted.unchanged), (2, 2));
    let list = read(converted.text.as_bytes()).remove(0);
    let items = list["items"].as_array().unwrap();
    let versions: Vec<&str> = items.iter().map(|item| item["apiVersion"].as_str().unwrap()).collect();
    let expected = [
        "bootstrap.cluster.x-k8s.io/v1beta2",
        "v1",
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "addons.cluster.x-k8s.io/v1beta2",
    ];
    assert_eq!(versions, expected);
    let arguments =
        items[0].pointer("/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs");
    assert_eq!(arguments, Some(&json!([{"name": "v", "value": "4"}])));

    let unchanged = json!({"apiVersion": "v1", "kind": "List", "items": [machine(), machine()]});
    let converted = manifests(unchanged.to_string().as_bytes()).unwrap();
    assert_eq!(
        (converted.converted, converted.unchanged),
        (0, 1),
        "a list that stays as it is, is one object"
    );
    let broken = json!({"apiVersion": "v1", "kind": "List", "items": [machine(),
        object("Machine", "v1beta1", json!({"spec": {"nodeDrainTimeout": "soon"}}))]});
    let error = manifests(broken.to_string().as_bytes()).unwrap_err().to_string();
    let expected = "conversion failed: failed to convert List item cluster.x-k8s.io/v1beta1, Kind=Machine at index 1: spec.nodeDrainTimeout";
    assert!(error.starts_with(expected), "{error}");
}
