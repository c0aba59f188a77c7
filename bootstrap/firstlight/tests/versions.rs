//! The older versions of Cluster API's kinds, which the server converts itself.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use kube::Client;
use serde_json::{Value, json};

use crate::place::Place;

const CLUSTER: &str = "/apis/cluster.x-k8s.io";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// Sends a request; a refusal is its code and message.
async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    form: &str,
    body: &Value,
) -> Result<Value, (u16, String)> {
    let request = http::Request::builder().method(method).uri(path).header("content-type", form);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match client.request(request.body(body).unwrap()).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

async fn create(client: &Client, path: &str, object: &Value) -> Result<Value, (u16, String)> {
    ask(client, "POST", path, "application/json", object).await
}

async fn get(client: &Client, path: &str) -> Value {
    ask(client, "GET", path, "application/json", &Value::Null).await.unwrap()
}

fn path(version: &str, plural: &str, rest: &str) -> String {
    format!("{CLUSTER}/{version}/namespaces/default/{plural}{rest}")
}

fn object(version: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": kind, "metadata": {"name": "one"}, "spec": spec})
}

fn template(version: &str) -> Value {
    let reference = |group: &str, kind: &str| {
        let group = format!("{group}.cluster.x-k8s.io");
        match version {
            "v1beta1" => json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind, "name": "t"}),
            _ => json!({"apiGroup": group, "kind": kind, "name": "t"}),
        }
    };
    json!({"spec": {"clusterName": "c", "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate")},
        "infrastructureRef": reference("infrastructure", "DevMachineTemplate")}})
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_is_written_and_read_in_both_versions() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let (older, newer) =
        (path("v1beta1", "machinedeployments", ""), path("v1beta2", "machinedeployments", ""));
    let (older_one, newer_one) = (format!("{older}/one"), format!("{newer}/one"));
    let spec = json!({"clusterName": "c", "template": template("v1beta1"), "minReadySeconds": 5, "revisionHistoryLimit": 1,
        "strategy": {"rollingUpdate": {"deletePolicy": "Oldest"}}});
    create(&client, &older, &object("v1beta1", "MachineDeployment", spec)).await.unwrap();

    // What upstream's webhooks do: defaults and rules are those of v1beta2.
    let stored = get(&client, &newer_one).await;
    assert_eq!(stored["spec"]["deletion"], json!({"order": "Oldest"}));
    assert_eq!(stored["spec"]["rollout"]["strategy"]["type"], "RollingUpdate");
    assert_eq!(stored["spec"]["template"]["spec"]["minReadySeconds"], 5);
    assert_eq!(
        stored["metadata"].get("annotations").and_then(|all| all.get("cluster.x-k8s.io/conversion-data")),
        None
    );

    // Reading, and writing what was read, changes nothing.
    let shown = get(&client, &older_one).await;
    let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "name": "t", "namespace": "default"});
    assert_eq!(shown["spec"]["template"]["spec"]["infrastructureRef"], reference);
    assert_eq!(shown["spec"].get("revisionHistoryLimit"), None);
    let again = ask(&client, "PUT", &older_one, "application/json", &shown).await.unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"]);
    assert_eq!(get(&client, &newer_one).await, stored);

    // A status of both versions, each written through its own.
    let status = json!({"status": {"replicas": 3, "upToDateReplicas": 2, "conditions": [{"type": "Available", "status": "True",
        "reason": "Available", "message": "", "lastTransitionTime": "2026-11-21T02:48:04Z"}]}});
    ask(&client, "PATCH", &format!("{newer_one}/status"), MERGE, &status).await.unwrap();
    let status = json!({"status": {"readyReplicas": 1}});
    let patched = ask(&client, "PATCH", &format!("{older_one}/status"), MERGE, &status).await.unwrap();
    assert_eq!(
        (&patched["status"]["readyReplicas"], &patched["status"]["v1beta2"]["upToDateReplicas"]),
        (&json!(1), &json!(2))
    );
    let stored = get(&client, &newer_one).await;
    assert_eq!(stored["status"]["deprecated"]["v1beta1"]["readyReplicas"], 1);
    assert_eq!(stored["status"]["conditions"][0]["type"], "Available");
    assert_eq!(stored["metadata"]["generation"], 1);

    let definition = get(
        &client,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machinedeployments.cluster.x-k8s.io",
    )
    .await;
    assert_eq!(definition["status"]["storedVersions"], json!(["v1beta2"]));
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn managers_of_fields_and_watchers_use_both_versions() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let apply = async |version: &str, manager: &str, spec: Value| {
        let path = path(version, "machinedeployments", &format!("/one?fieldManager={manager}"));
        ask(&client, "PATCH", &path, APPLY, &object(version, "MachineDeployment", spec)).await
    };
    let base = |version: &str| json!({"clusterName": "c", "template": template(version)});
    let mut spec = base("v1beta2");
    spec["replicas"] = json!(2);
    spec["rollout"] = json!({"after": "2026-11-21T02:48:04Z"});
    apply("v1beta2", "newer", spec).await.unwrap();

    let watched = path("v1beta1", "machinedeployments", "?watch=1&resourceVersion=0");
    let request = http::Request::get(watched).body(Vec::new()).unwrap();
    let mut events = client.request_stream(request).await.unwrap().lines();
    let mut event = async || {
        let line =
            tokio::time::timeout(Duration::from_secs(30), events.next()).await.unwrap().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["object"].take()
    };
    assert_eq!(event().await["spec"]["rolloutAfter"], "2026-11-21T02:48:04Z");

    let mut older = object(
        "v1beta1",
        "MachineDeployment",
        json!({"clusterName": "c", "paused": true,
        "rolloutAfter": "2026-11-22T00:00:00Z"}),
    );
    let target = path("v1beta1", "machinedeployments", "/one?fieldManager=older");
    let conflict = ask(&client, "PATCH", &target, APPLY, &older).await.unwrap_err();
    assert_eq!(conflict.0, 409);
    assert!(conflict.1.contains(r#"conflict with "newer": .spec.rollout.after"#), "{}", conflict.1);
    older["spec"].as_object_mut().unwrap().remove("rolloutAfter");
    let applied = ask(&client, "PATCH", &target, APPLY, &older).await.unwrap();
    assert_eq!((&applied["spec"]["paused"], &applied["spec"]["replicas"]), (&json!(true), &json!(2)));
    let shown = event().await;
    assert_eq!(
        (&shown["apiVersion"], &shown["spec"]["paused"]),
        (&json!("cluster.x-k8s.io/v1beta1"), &json!(true))
    );

    let stored = get(&client, &path("v1beta2", "machinedeployments", "/one")).await;
    let managers = stored["metadata"]["managedFields"].as_array().unwrap();
    let managers: Vec<_> = managers
        .iter()
        .map(|one| (one["manager"].as_str().unwrap(), one["apiVersion"].as_str().unwrap()))
        .collect();
    assert_eq!(managers, [("newer", "cluster.x-k8s.io/v1beta2"), ("older", "cluster.x-k8s.io/v1beta1")]);

    // What a manager does not apply any more goes, whatever its version.
    older["spec"].as_object_mut().unwrap().remove("paused");
    ask(&client, "PATCH", &target, APPLY, &older).await.unwrap();
    let mut spec = base("v1beta2");
    spec["replicas"] = json!(2);
    apply("v1beta2", "newer", spec).await.unwrap();
    let stored = get(&client, &path("v1beta2", "machinedeployments", "/one")).await;
    assert_eq!((stored["spec"].get("paused"), stored["spec"]["rollout"].get("after")), (None, None));
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_columns_are_those_of_the_version() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let machine = |drain: &str, version: &str| {
        let mut spec = template("v1beta1")["spec"].take();
        spec["version"] = json!(version);
        spec["nodeDrainTimeout"] = json!(drain);
        object("v1beta1", "Machine", spec)
    };
    let machines = path("v1beta1", "machines", "");
    for (drain, version, expected) in [
        (
            "soon",
            "v1.36.0",
            "spec.nodeDrainTimeout: Invalid value: \"soon\": must be a duration, such as 600s or 10m",
        ),
        ("5m", "one", "must be a semantic version with the prefix v, such as v1.35.0"),
    ] {
        let (code, message) = create(&client, &machines, &machine(drain, version)).await.unwrap_err();
        assert_eq!(code, 422, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let made = create(&client, &machines, &machine("5m", "1.36.0")).await.unwrap();
    assert_eq!(
        (&made["spec"]["version"], &made["spec"]["nodeDrainTimeout"]),
        (&json!("v1.36.0"), &json!("5m0s"))
    );

    let request =
        http::Request::get(&machines).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = client.request(request.body(Vec::new()).unwrap()).await.unwrap();
    let columns: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Cluster", "NodeName", "ProviderID", "Phase", "Age", "Version"]);
    place.process.stop().await;
}

/// Every version of each kind that Cluster API v1.14 serves is served.
#[tokio::test(flavor = "multi_thread")]
async fn all_versions_are_discovered() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    for (group, versions) in [
        ("cluster.x-k8s.io", &["v1beta2", "v1beta1"][..]),
        ("bootstrap.cluster.x-k8s.io", &["v1beta2", "v1beta1"]),
        ("controlplane.cluster.x-k8s.io", &["v1beta2", "v1beta1"]),
        ("addons.cluster.x-k8s.io", &["v1beta2", "v1beta1"]),
        ("infrastructure.cluster.x-k8s.io", &["v1beta2", "v1beta1"]),
        ("ipam.cluster.x-k8s.io", &["v1beta2", "v1beta1", "v1alpha2", "v1alpha1"]),
        ("runtime.cluster.x-k8s.io", &["v1beta2", "v1alpha1"]),
    ] {
        let found = get(&client, &format!("/apis/{group}")).await;
        let names: Vec<_> = found["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["version"].as_str().unwrap())
            .collect();
        assert_eq!(names, versions, "{group}");
        assert_eq!(found["preferredVersion"]["version"], "v1beta2", "{group}");
        for version in versions {
            assert!(
                !get(&client, &format!("/apis/{group}/{version}")).await["resources"]
                    .as_array()
                    .unwrap()
                    .is_empty()
            );
        }
    }
    place.process.stop().await;
}
