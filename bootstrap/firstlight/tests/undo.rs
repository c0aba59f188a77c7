//! Deletions of Clusters are undone: what is refused, who may, and what clients see. No controller runs here, so that the test decides what
//! each object says.

#![allow(clippy::unwrap_used, reason = "tests")]

use access::User;
use firstlight::commands::undo::undo_cluster;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use schemas::cluster::{Cluster, Machine};
use serde_json::{Value, json};

use crate::place::Place;

const ANNOTATION: &str = schemas::deletion_grace::ANNOTATION;

struct Server {
    place: Place,
    client: Client,
}

impl Server {
    async fn start() -> Self {
        let place = Place::start("none", &[]).await;
        let client = place.process.plane.client("test");
        Self { place, client }
    }

    fn clusters(&self) -> Api<Cluster> {
        Api::default_namespaced(self.client.clone())
    }

    /// Creates a Cluster with a finalizer, and with a grace period if `period` is not empty.
    async fn create(&self, name: &str, period: &str) -> Cluster {
        let annotations = if period.is_empty() { json!({}) } else { json!({ ANNOTATION: period }) };
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": { "name": name, "annotations": annotations, "finalizers": ["example.com/hold"] },
            "spec": { "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name } },
        });
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        self.clusters().create(&PostParams::default(), &cluster).await.unwrap()
    }

    async fn delete(&self, name: &str) {
        self.clusters().delete(name, &DeleteParams::background()).await.unwrap();
    }

    async fn created_and_deleted(&self, name: &str, period: &str) {
        self.create(name, period).await;
        self.delete(name).await;
    }

    async fn patch(&self, name: &str, patch: Value) -> Result<Cluster, String> {
        let patched = self.clusters().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map_err(|error| message(&error))
    }

    async fn report_deleting(&self, name: &str, reason: &str) {
        let condition = json!({ "type": "Deleting", "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-21T00:00:00Z" });
        let patch = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
        self.clusters().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Undoes a deletion. Returns the Cluster, or code and message of the refusal.
    async fn undo(&self, client: &Client, name: &str, body: Value) -> Result<Value, (u16, String)> {
        let path = format!("{}/{name}/undo", self.clusters().resource_url());
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::put(path).header("Content-Type", "application/json").body(body).unwrap();
        client.request(request).await.map_err(|error| match error {
            kube::Error::Api(status) => (status.code, status.message.clone()),
            other => panic!("{other}"),
        })
    }

    async fn refused(&self, name: &str) -> String {
        let (code, message) = self.undo(&self.client, name, Value::Null).await.unwrap_err();
        assert_eq!(code, 409, "{message}");
        message
    }
}

fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_as_before() {
    let server = Server::start().await;
    let created = server.create("one", "10m").await;
    server.delete("one").await;
    let said = undo_cluster(&server.client, "default", "one").await.unwrap();
    assert_eq!(said, "the deletion of Cluster default/one was undone; nothing of it was deleted\n");
    let undone = server.clusters().get("one").await.unwrap();
    assert_eq!(undone.metadata.generation, Some(3));
    let mut expected = created;
    expected.metadata.generation = undone.metadata.generation;
    expected.metadata.resource_version.clone_from(&undone.metadata.resource_version);
    assert_eq!(undone, expected);
    let again = undo_cluster(&server.client, "default", "one").await.unwrap_err().to_string();
    assert_eq!(again, "Cluster default/one is not being deleted: there is nothing to undo");
    let unknown = undo_cluster(&server.client, "default", "two").await.unwrap_err().to_string();
    assert_eq!(unknown, "there is no Cluster default/two; -n chooses another namespace");
    // Its next deletion waits again.
    server.delete("one").await;
    undo_cluster(&server.client, "default", "one").await.unwrap();
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_begun_is_not_undone() {
    let server = Server::start().await;
    server.create("kept", "10m").await;
    assert!(server.refused("kept").await.ends_with("it is not being deleted"));
    server.created_and_deleted("none", "").await;
    assert!(server.refused("none").await.contains("it has no grace period (annotation firstlight.dev/"));
    server.created_and_deleted("over", "1ns").await;
    assert!(server.refused("over").await.contains("the grace period of its deletion has passed at "));
    server.created_and_deleted("begun", "10m").await;
    server.report_deleting("begun", "WaitingForWorkersDeletion").await;
    let begun = server.refused("begun").await;
    assert!(begun.ends_with("its objects are being deleted (WaitingForWorkersDeletion)"), "{begun}");
    server.report_deleting("begun", "WaitingForDeletionGracePeriod").await;

    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": { "name": "m", "labels": { "cluster.x-k8s.io/cluster-name": "begun" }, "finalizers": ["example.com/hold"] },
        "spec": { "clusterName": "begun", "bootstrap": { "dataSecretName": "x" },
            "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "m" } },
    });
    let machine: Machine = serde_json::from_value(machine).unwrap();
    let machines: Api<Machine> = Api::default_namespaced(server.client.clone());
    machines.create(&PostParams::default(), &machine).await.unwrap();
    machines.delete("m", &DeleteParams::default()).await.unwrap();
    let refused = undo_cluster(&server.client, "default", "begun").await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "cannot undo the deletion of default/begun: Operation cannot be fulfilled on clusters.cluster.x-k8s.io \"begun\": its Machine m is being deleted"
    );
    let held = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    machines.patch("m", &PatchParams::default(), &held).await.unwrap();
    server.undo(&server.client, "begun", Value::Null).await.unwrap();

    server.created_and_deleted("last", "10m").await;
    let hold = json!({ "metadata": { "name": "team" } });
    let namespaces: Api<Namespace> = Api::all(server.client.clone());
    namespaces.create(&PostParams::default(), &serde_json::from_value(hold).unwrap()).await.unwrap();
    let elsewhere: Api<Cluster> = Api::namespaced(server.client.clone(), "team");
    let mut other = server.clusters().get("kept").await.unwrap();
    other.metadata = kube::core::ObjectMeta {
        name: Some("other".into()),
        annotations: other.metadata.annotations,
        finalizers: other.metadata.finalizers,
        ..Default::default()
    };
    elsewhere.create(&PostParams::default(), &other).await.unwrap();
    elsewhere.delete("other", &DeleteParams::default()).await.unwrap();
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    let refused = undo_cluster(&server.client, "team", "other").await.unwrap_err().to_string();
    assert!(refused.ends_with("its namespace team is being deleted"), "{refused}");
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_period_is_checked() {
    let server = Server::start().await;
    server.create("one", "10m").await;
    let period = |value: &str| json!({ "metadata": { "annotations": { ANNOTATION: value } } });
    let wrong = server.patch("one", period("soon")).await.unwrap_err();
    let expected = "metadata.annotations[firstlight.dev/deletion-grace-period]: Invalid value: \"soon\": must be a duration of at most 720 hours, such as 10m or 1h30m";
    assert!(wrong.ends_with(expected), "{wrong}");
    for policy in [DeleteParams::foreground(), DeleteParams::orphan()] {
        let refused = message(&server.clusters().delete("one", &policy).await.unwrap_err());
        assert!(refused.contains("Cluster cannot be deleted: this propagation policy would "), "{refused}");
    }
    server.delete("one").await;
    let refused = message(&server.clusters().delete("one", &DeleteParams::foreground()).await.unwrap_err());
    assert!(refused.contains("use the policy Background"), "{refused}");
    let longer = server.patch("one", period("11m")).await.unwrap_err();
    assert!(longer.ends_with("cannot become longer, because the Cluster is being deleted"), "{longer}");
    server.patch("one", period("9m")).await.unwrap();
    server.patch("one", json!({ "metadata": { "annotations": { ANNOTATION: null } } })).await.unwrap();
    let added = server.patch("one", period("1m")).await.unwrap_err();
    assert!(added.ends_with("cannot be added, because the Cluster is being deleted"), "{added}");
    server.refused("one").await;
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_and_preconditions() {
    let server = Server::start().await;
    let uid = server.create("one", "10m").await.metadata.uid.unwrap();
    server.delete("one").await;
    let before = server.clusters().get("one").await.unwrap();
    for (body, code) in [
        (json!({ "preconditions": { "uid": "other" } }), 409),
        (json!({ "preconditions": { "resourceVersion": "1" } }), 409),
        (json!({ "precondition": {} }), 400),
        (json!([]), 400),
        (json!({ "apiVersion": "v1", "kind": "Undo" }), 400),
    ] {
        let found = server.undo(&server.client, "one", body.clone()).await.map_err(|(code, _)| code);
        assert_eq!(found, Err(code), "{body}");
    }
    assert_eq!(server.undo(&server.client, "two", Value::Null).await.unwrap_err().0, 404);
    let dry = format!("{}/one/undo?dryRun=All", server.clusters().resource_url());
    let dry: Value = server.client.request(http::Request::put(dry).body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(dry["metadata"].get("deletionTimestamp"), None);
    assert_eq!(server.clusters().get("one").await.unwrap(), before, "refusals and dry runs change nothing");
    let version = before.metadata.resource_version.unwrap();
    let body = json!({ "apiVersion": "firstlight.dev/v1alpha1", "kind": "Undo",
        "preconditions": { "uid": uid, "resourceVersion": version } });
    let undone = server.undo(&server.client, "one", body).await.unwrap();
    assert_eq!((&undone["metadata"]["uid"], &undone["metadata"]["generation"]), (&json!(uid), &json!(3)));

    let listed = http::Request::get("/apis/cluster.x-k8s.io/v1beta2").body(Vec::new()).unwrap();
    let listed: Value = server.client.request(listed).await.unwrap();
    let resources = listed["resources"].as_array().unwrap();
    let undo = resources.iter().find(|one| one["name"] == "clusters/undo").unwrap();
    assert_eq!((&undo["kind"], &undo["verbs"]), (&json!("Undo"), &json!(["update"])));
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_delete_may_not_undo() {
    let server = Server::start().await;
    server.created_and_deleted("one", "10m").await;
    let rbac = |kind: &str| {
        let plural = format!("{}s", kind.to_lowercase());
        let resource = ApiResource {
            group: "rbac.authorization.k8s.io".into(),
            version: "v1".into(),
            api_version: "rbac.authorization.k8s.io/v1".into(),
            kind: kind.into(),
            plural,
        };
        Api::<DynamicObject>::default_namespaced_with(server.client.clone(), &resource)
    };
    for (name, resource, verbs) in [
        ("deleter", "clusters", json!(["get", "list", "update", "patch", "delete"])),
        ("undoer", "clusters/undo", json!(["update"])),
    ] {
        let role = json!({ "metadata": { "name": name },
            "rules": [{ "apiGroups": ["cluster.x-k8s.io"], "resources": [resource], "verbs": verbs }] });
        let role: DynamicObject = serde_json::from_value(role).unwrap();
        rbac("Role").create(&PostParams::default(), &role).await.unwrap();
        let binding = json!({ "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }] });
        let binding: DynamicObject = serde_json::from_value(binding).unwrap();
        rbac("RoleBinding").create(&PostParams::default(), &binding).await.unwrap();
    }
    let client = |name: &str| {
        let user = User { name: name.into(), groups: vec!["system:authenticated".into()], ..User::default() };
        Client::new(server.place.process.plane.server.client_service(user), "default")
    };
    let (code, refused) = server.undo(&client("deleter"), "one", Value::Null).await.unwrap_err();
    assert_eq!(code, 403);
    assert!(refused.contains("cannot update resource \"clusters/undo\""), "{refused}");
    // Nobody removes the timestamp through the resource itself.
    let clusters: Api<Cluster> = Api::default_namespaced(client("deleter"));
    let patch = Patch::Merge(json!({ "metadata": { "deletionTimestamp": null } }));
    let patched = clusters.patch("one", &PatchParams::default(), &patch).await.unwrap();
    assert!(patched.metadata.deletion_timestamp.is_some());
    server.undo(&client("undoer"), "one", Value::Null).await.unwrap();
    server.place.process.stop().await;
}

/// The Cluster's controller ends the period by removing the annotation. Either that comes first, or the undoing.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_comes_first() {
    let server = Server::start().await;
    for round in 0..40 {
        let name = format!("c{round}");
        server.created_and_deleted(&name, "10m").await;
        let read = server.clusters().get(&name).await.unwrap();
        let end = json!({ "metadata": { "resourceVersion": read.metadata.resource_version,
            "annotations": { ANNOTATION: null } } });
        let (undo, ended) =
            tokio::join!(server.undo(&server.client, &name, Value::Null), server.patch(&name, end));
        assert_ne!(undo.is_ok(), ended.is_ok(), "{undo:?} {ended:?}");
        let now = server.clusters().get(&name).await.unwrap();
        assert_eq!(now.metadata.deletion_timestamp.is_none(), undo.is_ok());
        let annotations = now.metadata.annotations.unwrap_or_default();
        assert_eq!(annotations.contains_key(ANNOTATION), undo.is_ok());
    }
    server.created_and_deleted("twice", "10m").await;
    let (first, second) = tokio::join!(
        server.undo(&server.client, "twice", Value::Null),
        server.undo(&server.client, "twice", Value::Null)
    );
    assert_ne!(first.is_ok(), second.is_ok(), "only one has undone it");
    server.place.process.stop().await;
}
