//! Known objects of Cluster API's kinds: what upstream makes of them, and what is particular.

use schemas::conversion::check;
use serde_json::{Map, Value, json};

use super::{ANNOTATION, STORED, assert_same, kind};

/// Objects of random content, and what the conversion functions of Cluster API v1.14.0 made of them. Go also writes zeros, which mean the
/// same as absence.
#[test]
fn upstream_converts_to_the_same() {
    let recorded: Vec<Value> = serde_json::from_str(include_str!("../data/conversion.json")).unwrap();
    assert!(recorded.len() > 90);
    for row in recorded {
        let (object, to) = (&row["object"], row["to"].as_str().unwrap());
        let name = object["kind"].as_str().unwrap();
        let about = format!("{name} {} to {to}", object["apiVersion"]);
        let mut found =
            kind_of(object).map_or_else(|| with_version(object, to), |kind| kind.convert(object, to));
        let annotations = found["metadata"].get_mut("annotations").and_then(Value::as_object_mut);
        let kept = annotations.and_then(|annotations| annotations.remove(ANNOTATION));
        assert_eq!(kept.is_some(), row["keeps"] == true, "{about}");
        if let Some(kept) = kept {
            let mut expected = object.clone();
            expected.as_object_mut().unwrap().remove("metadata");
            assert_eq!(serde_json::from_str::<Value>(kept.as_str().unwrap()).unwrap(), expected, "{about}");
        }
        assert_same(&without_zeros(&found), &without_zeros(&row["result"]), &about);
    }
}

/// Returns the conversion of an object's kind; `None` if its versions only differ in their names.
fn kind_of(object: &Value) -> Option<&'static super::Kind> {
    let name = object["kind"].as_str()?;
    super::kinds()
        .iter()
        .find(|kind| kind.name == name && object["apiVersion"].as_str().unwrap().starts_with(&kind.group))
}

fn with_version(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    let (group, _) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    object["apiVersion"] = json!(format!("{group}/{version}"));
    object
}

fn without_zeros(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (name.clone(), without_zeros(field)));
            Value::Object(fields.filter(|(_, field)| !is_zero(field)).collect())
        }
        Value::Array(items) => items.iter().map(without_zeros).collect(),
        value => value.clone(),
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value.as_str(), Some("" | "0s"))
        || value.is_null()
        || *value == false
        || value.as_i64() == Some(0)
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
}

fn machine(infrastructure: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": { "name": "m", "namespace": "site" },
        "spec": {
            "clusterName": "c", "minReadySeconds": 7, "deletion": { "nodeDrainTimeoutSeconds": 90 },
            "bootstrap": { "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "m" } },
            "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": infrastructure, "name": "m" },
        },
        "status": { "phase": "Updating", "nodeRef": { "name": "n" }, "initialization": { "infrastructureProvisioned": false } },
    })
}

#[test]
fn references_name_the_version_of_the_contract_and_the_namespace() {
    let kind = kind("Machine");
    for (infrastructure, version) in [("DevMachine", "v1beta2"), ("UnknownMachine", "v1beta1")] {
        let shown = kind.convert(&machine(infrastructure), "v1beta1");
        let expected = json!({
            "apiVersion": format!("infrastructure.cluster.x-k8s.io/{version}"), "kind": infrastructure, "name": "m",
            "namespace": "site",
        });
        assert_eq!(shown["spec"]["infrastructureRef"], expected);
        assert_eq!(kind.convert(&shown, STORED), machine(infrastructure));
    }
}

#[test]
fn a_change_in_the_older_version_leaves_alone_what_it_does_not_have() {
    let kind = kind("Machine");
    let mut shown = kind.convert(&machine("DevMachine"), "v1beta1");
    assert_eq!(shown["status"]["phase"], "Running");
    assert_eq!(shown["status"].get("infrastructureReady"), None);
    shown["spec"]["version"] = json!("v1.35.0");
    shown["spec"]["nodeDrainTimeout"] = json!("2m0s");
    let mut expected = machine("DevMachine");
    expected["spec"]["version"] = json!("v1.35.0");
    expected["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = json!(120);
    assert_eq!(kind.convert(&shown, STORED), expected);
    // Without the annotation, upstream does not know these fields either.
    shown["metadata"].as_object_mut().unwrap().remove("annotations");
    let stored = kind.convert(&shown, STORED);
    assert_eq!(
        (stored["spec"].get("minReadySeconds"), &stored["status"]["phase"]),
        (None, &json!("Running"))
    );
}

#[test]
fn items_that_did_not_change_keep_what_the_older_version_does_not_have() {
    let kind = kind("KubeadmConfig");
    let argument = |name: &str, value: &str| json!({ "name": name, "value": value });
    let stored = json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": { "name": "a", "namespace": "site" },
        "spec": {
            "clusterConfiguration": { "apiServer": { "extraArgs": [argument("v", "1"), argument("v", "2"), argument("a", "1")] } },
            "files": [{ "path": "/b", "append": false }, { "path": "/a", "append": false }],
            "joinConfiguration": { "timeouts": { "discoverySeconds": 5, "tlsBootstrapSeconds": 60 } },
        },
    });
    let mut shown = kind.convert(&stored, "v1beta1");
    let spec = &mut shown["spec"];
    assert_eq!(spec["clusterConfiguration"]["apiServer"]["extraArgs"], json!({ "a": "1", "v": "2" }));
    assert_eq!(spec["joinConfiguration"]["discovery"], json!({ "timeout": "1m0s" }));
    spec["files"].as_array_mut().unwrap().insert(0, json!({ "path": "/c" }));
    let back = kind.convert(&shown, STORED);
    let mut expected = stored;
    expected["spec"]["files"].as_array_mut().unwrap().insert(0, json!({ "path": "/c" }));
    assert_eq!(back, expected);
}

#[test]
fn the_cluster_of_a_claim_is_a_label_in_v1alpha1() {
    let kind = kind("IPAddressClaim");
    let claim = |labels: Value| {
        json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim",
            "metadata": { "name": "a", "namespace": "site", "labels": labels },
            "spec": { "clusterName": "c", "poolRef": { "apiGroup": "a.b", "kind": "Pool", "name": "p" } },
        })
    };
    for labels in [json!({ "x": "y" }), json!({ "cluster.x-k8s.io/cluster-name": "c" })] {
        let shown = kind.convert(&claim(labels.clone()), "v1alpha1");
        assert_eq!(shown["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "c");
        assert_eq!(kind.convert(&shown, STORED), claim(labels));
    }
}

#[test]
fn durations_that_cannot_be_converted_are_refused() {
    let checked = |object: Value| {
        let found = check(object["apiVersion"].as_str().unwrap().split_once('/').unwrap().0, &object);
        found.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let mut class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "ClusterClass",
        "spec": { "workers": { "machineDeployments": [
            { "class": "a" },
            { "class": "b", "nodeDrainTimeout": "5",
              "machineHealthCheck": { "unhealthyConditions": [{ "type": "Ready", "status": "False", "timeout": "soon" }] } },
        ] } },
    });
    let place = "spec.workers.machineDeployments[1]";
    assert_eq!(
        checked(class.clone()),
        Err(vec![
            format!(
                "{place}.nodeDrainTimeout: Invalid value: \"5\": must be a duration, such as 600s or 10m"
            ),
            format!(
                "{place}.machineHealthCheck.unhealthyConditions[0].timeout: Invalid value: \"soon\": must be a duration, such as 600s or 10m"
            ),
        ])
    );
    class["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
    assert_eq!(checked(class), Ok(vec![]));
}
