//! Reviews as an API server sends them, and others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use serde_json::{Value, json};
use server::admission::{ClusterApiAdmission, Objects};
use server::conversion::ClusterApiConversion;
use server::webhooks::reviews::{Definitions, Purpose, admission, conversion, scaled};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// A cluster that is empty.
struct NoObjects;

impl Objects for NoObjects {
    fn get(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Option<Value>, String> {
        Ok(None)
    }

    fn list(&self, _: &str, _: &str, _: &str) -> Result<Vec<Value>, String> {
        Ok(Vec::new())
    }
}

fn review(resource: &str, version: &str, operation: &str, object: Value, old: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "resource": {"group": GROUP, "version": version, "resource": resource},
        "name": "one", "namespace": "default", "operation": operation, "object": object, "oldObject": old,
    }})
}

fn machine(version: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/{version}"), "kind": "Metal3Machine",
        "metadata": {"name": "one", "namespace": "default"}, "spec": spec})
}

fn ask(purpose: Purpose, review: &Value) -> Result<Value, String> {
    let definitions = Definitions::new(ClusterApiConversion::default()).unwrap();
    admission(purpose, review, &definitions, &ClusterApiAdmission::default(), None, &NoObjects)
}

#[test]
fn a_refusal_is_the_status_that_the_server_itself_answers() {
    let bad =
        review("metal3machines", "v1beta2", "CREATE", machine("v1beta2", json!({"image": {}})), Value::Null);
    let answer = ask(Purpose::Rules, &bad).unwrap();
    let response = &answer["response"];
    assert_eq!((&response["uid"], &response["allowed"]), (&json!("u"), &json!(false)));
    let status = &response["status"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
    let message = status["message"].as_str().unwrap();
    let expected = "Metal3Machine.infrastructure.cluster.x-k8s.io \"one\" is invalid: spec.image";
    assert!(message.starts_with(expected), "{message}");
    let deleted = review("metal3machines", "v1beta2", "DELETE", Value::Null, machine("v1beta2", json!({})));
    assert_eq!(ask(Purpose::Rules, &deleted).unwrap()["response"]["allowed"], true);
}

#[test]
fn defaults_are_a_patch_in_the_version_of_the_request() {
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"infrastructureRef": {"apiGroup": GROUP, "kind": "DevCluster", "name": "one"},
            "topology": {"classRef": {"name": "c"}, "version": "1.36.0"}}});
    let mut create = review("clusters", "v1beta2", "CREATE", cluster, Value::Null);
    create["request"]["resource"]["group"] = "cluster.x-k8s.io".into();
    let answer = ask(Purpose::Defaults, &create).unwrap();
    let patch = STANDARD.decode(answer["response"]["patch"].as_str().unwrap()).unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    let expected = json!([{"op": "replace", "path": "/spec/topology/version", "value": "v1.36.0"}]);
    assert_eq!((patch, &answer["response"]["patchType"]), (expected, &json!("JSONPatch")));
    create["request"]["object"]["spec"]["topology"]["version"] = "v1.36.0".into();
    assert_eq!(ask(Purpose::Defaults, &create).unwrap()["response"].get("patch"), None);
}

#[test]
fn scale_is_checked_with_the_object_that_is_scaled() {
    let definitions = Definitions::new(ClusterApiConversion::default()).unwrap();
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}});
    let mut write = review("kubeadmcontrolplanes", "v1beta2", "UPDATE", scale, Value::Null);
    write["request"]["resource"]["group"] = "controlplane.cluster.x-k8s.io".into();
    write["request"]["subResource"] = "scale".into();
    let (definition, namespace, name, replicas) = scaled(&write, &definitions).unwrap();
    assert_eq!((&*definition.kind, namespace, name, replicas), ("KubeadmControlPlane", "default", "one", 2));
    let rules = ClusterApiAdmission::default();
    let asked =
        |object| admission(Purpose::Rules, &write, &definitions, &rules, Some(object), &NoObjects).unwrap();
    let refused = asked(Ok(json!({"spec": {"replicas": 2}})));
    let message = refused["response"]["status"]["message"].as_str().unwrap();
    assert!(message.contains("must be odd when etcd runs on the control plane machines"), "{message}");
    let external = json!({"spec": {"replicas": 2, "kubeadmConfigSpec": {
        "clusterConfiguration": {"etcd": {"external": {}}}}}});
    assert_eq!(asked(Ok(external))["response"]["allowed"], true);
    let unknown = asked(Err(Status::internal("no answer")));
    assert_eq!(unknown["response"]["allowed"], false);
}

#[test]
fn a_review_that_is_none_is_refused() {
    let good = review("metal3machines", "v1beta2", "CREATE", machine("v1beta2", json!({})), Value::Null);
    let with = |path: &str, value: Value| {
        let mut review = good.clone();
        *review.pointer_mut(path).unwrap() = value;
        ask(Purpose::Defaults, &review).unwrap_err()
    };
    let table = [
        ("/kind", json!("Review"), "the body is no AdmissionReview of admission.k8s.io/v1"),
        ("/apiVersion", json!("admission.k8s.io/v1beta1"), "the body is no AdmissionReview"),
        ("/request", json!(null), "the AdmissionReview has no request.uid"),
        ("/request/uid", json!(7), "the AdmissionReview has no request.uid"),
        ("/request/resource", json!([]), "request.resource: no webhook is here for []"),
        ("/request/resource/resource", json!("pods"), "request.resource: no webhook"),
        ("/request/resource/version", json!("v1"), "request.resource: no webhook"),
        ("/request/operation", json!("CONNECT"), "request.operation: \"CONNECT\" is none of"),
        ("/request/object", json!("text"), "request.object is no object"),
    ];
    for (path, value, expected) in table {
        let why = with(path, value);
        assert!(why.starts_with(expected), "{path}: {why}");
    }
    assert!(ask(Purpose::Rules, &json!(null)).is_err());
}

/// Objects whose fields have other types than the schema says reach webhooks before the schema is checked.
#[test]
fn objects_of_any_form_are_answered() {
    let odd =
        [json!({}), json!([]), json!("x"), json!(1), json!(null), json!({"image": 3, "providerID": {}})];
    for version in ["v1beta1", "v1beta2"] {
        for spec in &odd {
            let object = machine(version, spec.clone());
            let create =
                review("metal3machines", version, "UPDATE", object.clone(), machine(version, json!(7)));
            for purpose in [Purpose::Defaults, Purpose::Rules] {
                assert!(ask(purpose, &create).is_ok(), "{create}");
            }
        }
    }
}

#[test]
fn objects_are_converted_there_and_back() {
    let definitions = Definitions::new(ClusterApiConversion::default()).unwrap();
    let convert = |object: &Value, wanted: &str| {
        let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "u", "desiredAPIVersion": wanted, "objects": [object]}});
        conversion(review, &definitions).unwrap()["response"].clone()
    };
    let (old, new) = (format!("{GROUP}/v1beta1"), format!("{GROUP}/v1beta2"));
    let spec = json!({"image": {"url": "http://x/y", "checksum": "http://x/z"}, "automatedCleaningMode": "metadata"});
    let first = machine("v1beta1", spec);
    let there = convert(&first, &new);
    assert_eq!((&there["uid"], &there["result"]), (&json!("u"), &json!({"status": "Success"})));
    let stored = &there["convertedObjects"][0];
    assert_eq!(stored["apiVersion"], *new);
    assert_eq!(convert(stored, &old)["convertedObjects"][0]["spec"], first["spec"]);
    for (object, wanted) in [
        (&first, "infrastructure.cluster.x-k8s.io/v9"),
        (&first, "v1"),
        (&json!({}), &*new),
        (&json!(7), &*new),
    ] {
        let failed = convert(object, wanted);
        assert_eq!(failed["result"]["status"], "Failure", "{wanted}");
        assert!(failed["result"]["message"].as_str().unwrap().contains("cannot be converted"), "{failed}");
    }
    let none =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "u"}});
    assert_eq!(conversion(none, &definitions), Err("request.objects is no list".to_owned()));
}
