//! Admission of ClusterClasses and of their Clusters by a running server, which reads what the rules must know from its own objects.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use kube::Client;
use serde_json::{Value, json};

use crate::place::Place;

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// A refusal: code, reason and message.
type Refusal = (u16, String, String);

async fn ask(client: &Client, method: &str, path: &str, form: &str, body: &Value) -> Result<Value, Refusal> {
    let request = http::Request::builder().method(method).uri(path).header("content-type", form);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match client.request(request.body(body).unwrap()).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err((status.code, status.reason.clone(), status.message.clone())),
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

/// Checks that a write is refused with this reason because of this field.
fn refused(answer: Result<Value, Refusal>, reason: &str, part: &str) {
    let (_, found, message) = answer.unwrap_err();
    assert!(found == reason && message.contains(part), "{found}: {message}");
}

fn path(namespace: &str, plural: &str, name: &str) -> String {
    let slash = if name.is_empty() { "" } else { "/" };
    format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{namespace}/{plural}{slash}{name}")
}

fn template(group: &str, kind: &str) -> Value {
    json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "x"}})
}

pub fn class(name: &str, variables: Value) -> Value {
    let mut control_plane = template("controlplane", "KubeadmControlPlaneTemplate");
    control_plane["machineInfrastructure"] = template("infrastructure", "DevMachineTemplate");
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": name, "namespace": "default"},
        "spec": {"infrastructure": template("infrastructure", "DevClusterTemplate"), "controlPlane": control_plane,
            "variables": variables,
            "workers": {"machineDeployments": [{"class": "worker",
                "bootstrap": template("bootstrap", "KubeadmConfigTemplate"),
                "infrastructure": template("infrastructure", "DevMachineTemplate")}]}}})
}

pub fn cluster(name: &str, variables: Value) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name, "namespace": "default"},
        "spec": {"topology": {"classRef": {"name": "base"}, "version": "v1.35.0", "variables": variables,
            "workers": {"machineDeployments": [{"class": "worker", "name": "md-0", "replicas": 1}]}}}})
}

fn definition(name: &str, schema: Value) -> Value {
    json!({"name": name, "required": false, "schema": {"openAPIV3Schema": schema}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_decides_about_its_clusters_and_they_keep_it() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let classes = path("default", "clusterclasses", "");
    let clusters = path("default", "clusters", "");
    let create = async |path: &str, object: Value| ask(&client, "POST", path, JSON, &object).await;
    let change = async |plural: &str, name: &str, patch: Value| {
        ask(&client, "PATCH", &path("default", plural, name), MERGE, &patch).await
    };

    let wrong = json!([definition("count", json!({"type": "integer", "default": "x"}))]);
    let answer = create(&classes, class("base", wrong)).await;
    refused(answer, "Invalid", "spec.variables[count].schema.openAPIV3Schema.default");
    let count = definition("count", json!({"type": "integer", "default": 2, "minimum": 1}));
    let image = definition(
        "image",
        json!({"type": "object", "properties": {"tag": {"type": "string", "default": "v1"}}}),
    );
    create(&classes, class("base", json!([count, image]))).await.unwrap();

    let answer = create(&clusters, cluster("one", json!([{"name": "count", "value": 0}]))).await;
    refused(answer, "Invalid", "spec.topology.variables[count].value");
    let answer = create(&clusters, cluster("one", json!([{"name": "image", "value": {"name": "x"}}]))).await;
    refused(answer, "Invalid", "spec.topology.variables[image]");
    let written = create(&clusters, cluster("one", json!([{"name": "image", "value": {}}]))).await.unwrap();
    let defaults = json!([{"name": "image", "value": {"tag": "v1"}}, {"name": "count", "value": 2}]);
    assert_eq!(written["spec"]["topology"]["variables"], defaults);
    let stored = ask(&client, "GET", &path("default", "clusters", "one"), JSON, &Value::Null).await.unwrap();
    assert_eq!(stored["spec"]["topology"]["variables"], defaults);

    let other = json!({"spec": {"topology": {"workers": {"machineDeployments": [{"class": "other", "name": "md-0"}]}}}});
    refused(
        change("clusters", "one", other).await,
        "Invalid",
        "spec.topology.workers.machineDeployments[0].class",
    );
    let higher = json!({"spec": {"topology": {"version": "v1.36.0"}}});
    let answer = change("clusters", "one", higher).await;
    refused(answer, "Invalid", "failed to get control plane object: it does not exist yet");
    let gone = json!({"spec": {"topology": {"classRef": {"name": "gone"}}}});
    refused(change("clusters", "one", gone).await, "Invalid", "spec.topology.class");
    let renamed = json!({"spec": {"workers": {"machineDeployments": [{"class": "other",
        "bootstrap": template("bootstrap", "KubeadmConfigTemplate"),
        "infrastructure": template("infrastructure", "DevMachineTemplate")}]}}});
    refused(change("clusterclasses", "base", renamed).await, "Invalid", "spec.workers.machineDeployments");

    let delete = async |plural: &str, name: &str| {
        ask(&client, "DELETE", &path("default", plural, name), JSON, &Value::Null).await
    };
    refused(delete("clusterclasses", "base").await, "Forbidden", "it is used by Clusters: default/one");
    let collection = ask(&client, "DELETE", &classes, JSON, &Value::Null).await;
    refused(collection, "Forbidden", "it is used by Clusters");
    delete("clusters", "one").await.unwrap();
    delete("clusterclasses", "base").await.unwrap();
    place.process.stop().await;
}

/// Defaults belong to nobody, so whoever applies a Cluster neither owns nor removes them.
#[tokio::test(flavor = "multi_thread")]
async fn an_applied_cluster_keeps_its_defaults() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let count = definition("count", json!({"type": "integer", "default": 2}));
    ask(&client, "POST", &path("default", "clusterclasses", ""), JSON, &class("base", json!([count])))
        .await
        .unwrap();
    let mut applied = cluster("one", Value::Null);
    applied["spec"]["topology"].as_object_mut().unwrap().remove("variables");
    let path = format!("{}?fieldManager=test", path("default", "clusters", "one"));
    let first = ask(&client, "PATCH", &path, APPLY, &applied).await.unwrap();
    let second = ask(&client, "PATCH", &path, APPLY, &applied).await.unwrap();
    assert_eq!(first["spec"]["topology"]["variables"], json!([{"name": "count", "value": 2}]));
    assert_eq!(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
    place.process.stop().await;
}

/// The policy of docs/classes.md keeps Clusters from classes of other namespaces.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_says_which_namespaces_have_classes() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let page = include_str!("../../../docs/classes.md");
    let policy = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    for text in policy.split("---\n") {
        let object: Value = serde_saphyr::from_str(text).unwrap();
        let plural = match object["kind"].as_str().unwrap() {
            "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
            _ => "validatingadmissionpolicybindings",
        };
        ask(&client, "POST", &format!("/apis/admissionregistration.k8s.io/v1/{plural}"), JSON, &object)
            .await
            .unwrap();
    }
    let create = async |name: &str, namespace: Value| {
        let mut cluster = cluster(name, Value::Null);
        cluster["spec"]["topology"]["classRef"]["namespace"] = namespace;
        ask(&client, "POST", &path("default", "clusters", ""), JSON, &cluster).await
    };
    let answer = create("one", json!("somebody-else")).await;
    refused(answer, "Invalid", "the class must be in the namespace of the Cluster, or in classes");
    for (name, namespace) in [("two", json!("classes")), ("three", json!("default")), ("four", json!(null))] {
        create(name, namespace).await.unwrap();
    }
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_comes_from_the_pool_of_its_claim() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let path = |plural: &str| format!("/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/{plural}");
    let object = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let pool = |name: &str| json!({"apiGroup": "ipam.test", "kind": "Pool", "name": name});
    let claim = object("IPAddressClaim", "claim", json!({"poolRef": pool("a")}));
    ask(&client, "POST", &path("ipaddressclaims"), JSON, &claim).await.unwrap();
    let address = |name: &str, claim: &str, from: &str| {
        object(
            "IPAddress",
            name,
            json!({"claimRef": {"name": claim}, "poolRef": pool(from), "address": "192.0.2.1", "prefix": 24}),
        )
    };
    let create = async |address: Value| ask(&client, "POST", &path("ipaddresses"), JSON, &address).await;
    refused(create(address("one", "claim", "b")).await, "Invalid", "spec.poolRef");
    create(address("one", "claim", "a")).await.unwrap();
    create(address("two", "gone", "b")).await.unwrap();
    place.process.stop().await;
}
