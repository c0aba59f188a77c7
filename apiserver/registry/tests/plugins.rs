//! The admission that is built in comes before the webhooks, and again after them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use registry::{Housekeeping, Input, ListOptions, Options, PatchBody, Registry, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, Webhook, context};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

struct Plane {
    registry: Registry,
    /// The Pods that the webhook was sent.
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Plane {
    /// A registry with the plugin ServiceAccount, and a webhook for new Pods that answers with `operations`.
    async fn new(operations: Value) -> Self {
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (patch, record) = (STANDARD.encode(operations.to_string()), seen.clone());
        let webhook = Webhook::new(move |review| {
            let request = &review["request"];
            record.lock().unwrap().push(request["object"].clone());
            let response =
                json!({"uid": request["uid"], "allowed": true, "patchType": "JSONPatch", "patch": patch});
            Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
        });
        let options =
            Options { webhooks: Some(Arc::new(webhook)), service_accounts: true, ..Options::default() };
        let plane = Self { registry: common::open_with(options).await, seen };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "w"}, "webhooks": [{
                "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:9443/admit"},
                "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["pods"]}],
            }],
        });
        plane.create("mutatingwebhookconfigurations", configuration).await.unwrap();
        plane
    }

    async fn create(&self, plural: &str, object: Value) -> Result<Value, Status> {
        let (group, version) = machinery::meta::group_version(object["apiVersion"].as_str().unwrap());
        let served = self.registry.served(group, version, plural).unwrap();
        let namespace = if served.definition.namespaced { "default" } else { "" };
        let written = self.registry.create(&mut context(), &served, namespace, Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn pod(&self, spec: Value) -> Result<Value, Status> {
        self.create("pods", pod(spec)).await
    }
}

fn pod(spec: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
    pod["spec"]["containers"] = json!([{"name": "c", "image": "x"}]);
    pod
}

/// Checks what the plugins have made of a Pod without anything.
fn check_complete(pod: &Value) {
    let spec = &pod["spec"];
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    assert_eq!(spec["tolerations"], json!([toleration(NOT_READY), toleration(UNREACHABLE)]));
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    let volume = &spec["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.starts_with("kube-api-access-"), "{name}");
    let sources = volume["projected"]["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 3);
    assert_eq!(sources[0], json!({"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}));
    let path = "/var/run/secrets/kubernetes.io/serviceaccount";
    let mount = json!([{"name": name, "readOnly": true, "mountPath": path}]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mount);
}

#[tokio::test]
async fn a_webhook_sees_a_complete_pod() {
    let plane = Plane::new(json!([])).await;
    // The account of the namespace is awaited, since the housekeeping has just begun.
    check_complete(&plane.pod(json!({})).await.unwrap());
    check_complete(&plane.seen.lock().unwrap()[0]);
}

#[tokio::test]
async fn what_a_webhook_takes_away_is_there_again() {
    let operations = json!([
        {"op": "remove", "path": "/spec/tolerations"}, {"op": "remove", "path": "/spec/priority"},
        {"op": "remove", "path": "/spec/serviceAccountName"}, {"op": "remove", "path": "/spec/serviceAccount"},
        {"op": "remove", "path": "/spec/volumes"}, {"op": "remove", "path": "/spec/containers/0/volumeMounts"},
    ]);
    check_complete(&Plane::new(operations).await.pod(json!({})).await.unwrap());
}

#[tokio::test]
async fn a_projected_token_needs_no_account_name() {
    let plane = Plane::new(json!([])).await;
    let token = json!({"serviceAccountToken": {"path": "token", "audience": "vault"}});
    let volumes = json!([{"name": "vault", "projected": {"sources": [token]}}]);
    let created = plane.pod(json!({"volumes": volumes})).await.unwrap();
    assert_eq!(created["spec"]["serviceAccountName"], "default");
    assert_eq!(created["spec"]["volumes"].as_array().unwrap().len(), 2);
    assert_eq!(created["spec"]["volumes"][0]["name"], "vault");
}

#[tokio::test]
async fn an_account_says_what_its_pods_get() {
    let plane = Plane::new(json!([])).await;
    let refused = plane.pod(json!({"serviceAccountName": "robot"})).await.unwrap_err();
    let why = "pods \"p\" is forbidden: error looking up service account default/robot: serviceaccount \"robot\" \
               not found";
    assert_eq!((refused.code, refused.message.as_str()), (403, why));
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
        "metadata": {"name": "robot", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "imagePullSecrets": [{"name": "pull"}], "secrets": [{"name": "own"}],
    });
    plane.create("serviceaccounts", account).await.unwrap();
    let secret = |name: &str| json!([{"name": "s", "secret": {"secretName": name}}]);
    let refused =
        plane.pod(json!({"serviceAccountName": "robot", "volumes": secret("other")})).await.unwrap_err();
    let why = "pods \"p\" is forbidden: volume with secret.secretName=\"other\" is not allowed because service \
               account robot does not reference that secret";
    assert_eq!(refused.message, why);
    let spec = json!({"serviceAccountName": "robot", "volumes": secret("own")});
    let created = plane.pod(spec).await.unwrap();
    assert_eq!(created["spec"]["imagePullSecrets"], json!([{"name": "pull"}]));
    assert_eq!(created["spec"]["volumes"].as_array().unwrap().len(), 1, "no token is mounted");
}

#[tokio::test]
async fn ephemeral_containers_use_only_the_secrets_of_their_account() {
    let plane = Plane::new(json!([])).await;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "own"}],
        "metadata": {"name": "robot", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
    });
    plane.create("serviceaccounts", account).await.unwrap();
    plane.pod(json!({"serviceAccountName": "robot"})).await.unwrap();
    let env = |name: &str| json!([{"name": "V", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]);
    let from = |name: &str| json!([{"secretRef": {"name": name}}]);
    let table =
        [("env", env("other"), "envVar V"), ("envFrom", from("other"), "envFrom"), ("env", env("own"), "")];
    for (field, value, words) in table {
        let mut container = json!({"name": "e", "image": "x"});
        container[field] = value;
        let patch = json!({"spec": {"ephemeralContainers": [container]}});
        let patch = PatchBody::Merge(patch.to_string().into());
        let served = plane.registry.served("", "v1", "pods").unwrap();
        let part = Subresource::EphemeralContainers;
        let done = plane.registry.patch(&mut context(), &served, "default", "p", part, patch).await;
        let refused = done.err().map(|status| (status.code, status.message));
        let why = format!(
            "ephemeral container e with {words} referencing secret.secretName=\"other\" is not allowed because \
             service account robot does not reference that secret"
        );
        assert_eq!(refused, (!words.is_empty()).then_some((500, why)));
    }
}

#[tokio::test]
async fn mirror_pods_are_left_alone() {
    let plane = Plane::new(json!([])).await;
    let mirror = |spec: Value| {
        let mut pod = pod(spec);
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        pod
    };
    let refused = plane.create("pods", mirror(json!({"serviceAccountName": "default"}))).await.unwrap_err();
    let why = "pods \"p\" is forbidden: a mirror pod may not reference service accounts";
    assert_eq!(refused.message, why);
    let created = plane.create("pods", mirror(json!({"nodeName": "n"}))).await.unwrap();
    assert_eq!(
        (&created["spec"]["serviceAccountName"], &created["spec"]["volumes"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn the_classes_of_every_cluster_are_there_once() {
    let housekeeping = Housekeeping { standard_objects: true, ..Housekeeping::default() };
    let registry = common::open_with(Options { housekeeping, ..Options::default() }).await;
    let served = registry.served("scheduling.k8s.io", "v1", "priorityclasses").unwrap();
    let list = registry.list(&mut context(), &served, "", &ListOptions::default()).await.unwrap();
    let shown = list.items.iter().map(|item| serde_json::from_slice::<Value>(&item.object).unwrap());
    let shown: Vec<(String, Value)> =
        shown.map(|one| (one["metadata"]["name"].to_string(), one["value"].clone())).collect();
    let cluster = ("\"system-cluster-critical\"".to_owned(), json!(2_000_000_000));
    assert_eq!(shown, [cluster, ("\"system-node-critical\"".to_owned(), json!(2_000_001_000))]);
}

#[tokio::test]
async fn one_priority_class_is_the_default() {
    let plane = Plane::new(json!([])).await;
    let class = |name: &str| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": 7, "globalDefault": true, "preemptionPolicy": "Never"})
    };
    plane.create("priorityclasses", class("usual")).await.unwrap();
    let refused = plane.create("priorityclasses", class("second")).await.unwrap_err();
    let why = "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass usual is already marked as \
               default. Only one default can exist";
    assert_eq!(refused.message, why);
    let spec = &plane.pod(json!({})).await.unwrap()["spec"];
    let found = [&spec["priorityClassName"], &spec["priority"], &spec["preemptionPolicy"]];
    assert_eq!(found, [&json!("usual"), &json!(7), &json!("Never")]);
}
