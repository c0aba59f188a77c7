//! Admission by webhooks and policies that are configured in the API, over TLS with their own authority.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeZone, Utc};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use registry::{Context, DeleteOptions, Input, Options, PatchBody, Registry, Subresource};
use serde_json::{Value, json};
use store::{Memory, Store};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use webhook::HttpsCaller;

use crate::webhook::Loopback;

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

/// Returns the webhook's `response` without `uid`, for a path and a request.
type Rules = fn(&str, &Value) -> Value;

/// A registry, and a webhook server that records its requests.
struct Plane {
    registry: Registry,
    url: String,
    ca_bundle: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Plane {
    async fn new(rules: Rules) -> Self {
        let clock = Clock::simulated(now());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = Options {
            webhooks: Some(Arc::new(HttpsCaller::over(Arc::new(Loopback), clock.clone()))),
            ..Options::default()
        };
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let random = Random::seeded(2);
        let authority =
            CertificateAuthority::generate("ca", KeyAlgorithm::EcdsaP256, None, now(), &random).unwrap();
        let leaf = Leaf::server("webhook", vec!["127.0.0.1".to_owned(), "hook.default.svc".to_owned()]);
        let identity = authority.issue(&leaf, now(), &random).unwrap();
        let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
        let config = server_config(certificates, &ClientCertificates::None, &["http/1.1"], &clock).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), rules, asked.clone()));
        let ca_bundle = STANDARD.encode(authority.certificate());
        Self { registry, url, ca_bundle, asked }
    }

    async fn create(&self, object: Value) -> Result<Value, machinery::status::Status> {
        self.create_as(&mut Context::default(), object).await
    }

    async fn create_as(
        &self,
        context: &mut Context,
        object: Value,
    ) -> Result<Value, machinery::status::Status> {
        let (group, version) = machinery::meta::group_version(object["apiVersion"].as_str().unwrap());
        let definitions = self.registry.definitions();
        let definition = definitions.by_kind(group, object["kind"].as_str().unwrap()).unwrap();
        let served = self.registry.served(group, version, &definition.plural).unwrap();
        let namespace = if definition.namespaced { "default" } else { "" };
        let written = self.registry.create(context, &served, namespace, Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    /// Creates a webhook configuration of this kind for this path; `more` overrides its fields.
    async fn hook(&self, kind: &str, path: &str, more: Value) {
        let mut hook = json!({
            "name": format!("{path}.hooks.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": format!("{}/{path}", self.url), "caBundle": self.ca_bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
        });
        for (key, value) in more.as_object().unwrap() {
            hook[key] = value.clone();
        }
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": format!("{path}-{}", kind.to_lowercase())}, "webhooks": [hook],
        });
        self.create(configuration).await.unwrap();
    }

    fn paths(&self) -> Vec<String> {
        self.asked.lock().iter().map(|(path, _)| path.clone()).collect()
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    rules: Rules,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, asked) = (acceptor.clone(), asked.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let answer = |request: Request<Incoming>| {
                let asked = asked.clone();
                async move {
                    let path = request.uri().path().trim_start_matches('/').to_owned();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let review: Value = serde_json::from_slice(&body).unwrap();
                    let mut response = rules(&path, &review["request"]);
                    response["uid"] = review["request"]["uid"].clone();
                    asked.lock().push((path, review));
                    let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
                    let body = Bytes::from(answer.to_string());
                    Ok::<_, Infallible>(Response::new(Full::new(body)))
                }
            };
            let server = hyper::server::conn::http1::Builder::new();
            let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

fn config_map(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "b"}})
}

fn allow(_: &str, _: &Value) -> Value {
    json!({"allowed": true})
}

fn patch(operations: &Value) -> Value {
    let text = STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": text})
}

#[tokio::test]
async fn mutating_webhooks_change_in_order_and_are_called_again() {
    let plane = Plane::new(|path, request| {
        let data = &request["object"]["data"];
        match path {
            "first" if data["seen"].is_null() => {
                patch(&json!([{"op": "add", "path": "/data/first", "value": "1"}]))
            }
            "first" => patch(&json!([{"op": "add", "path": "/data/first", "value": "again"}])),
            _ => patch(&json!([{"op": "add", "path": "/data/seen", "value": data["first"]}])),
        }
    })
    .await;
    plane.hook("MutatingWebhookConfiguration", "first", json!({"reinvocationPolicy": "IfNeeded"})).await;
    plane.hook("MutatingWebhookConfiguration", "second", json!({})).await;
    let created = plane.create(config_map("x", &json!({}))).await.unwrap();
    assert_eq!(created["data"], json!({"a": "b", "first": "again", "seen": "1"}));
    assert_eq!(plane.paths(), ["first", "second", "first"]);
    let review = plane.asked.lock()[0].1.clone();
    let request = &review["request"];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["resource"], json!({"group": "", "version": "v1", "resource": "configmaps"}));
    assert_eq!((&request["name"], &request["namespace"]), (&json!("x"), &json!("default")));
    assert_eq!((&request["oldObject"], &request["dryRun"]), (&Value::Null, &json!(false)));
    // Fields that a webhook adds have no field manager.
    let fields = created["metadata"]["managedFields"][0]["fieldsV1"]["f:data"].clone();
    assert_eq!(fields, json!({".": {}, "f:a": {}}));
}

#[tokio::test]
async fn validating_webhooks_refuse_and_warn() {
    let plane = Plane::new(|path, request| match (path, request["name"].as_str().unwrap_or_default()) {
        (_, "warned") => json!({"allowed": true, "warnings": ["careful"]}),
        (_, "plain") => json!({"allowed": false}),
        _ => json!({"allowed": false, "status": {"message": "not like this", "code": 403, "reason": "Forbidden"}}),
    })
    .await;
    plane.hook("ValidatingWebhookConfiguration", "check", json!({})).await;
    let refused = plane.create(config_map("x", &json!({}))).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (403, "Forbidden"));
    let denied = "admission webhook \"check.hooks.example.com\" denied the request";
    assert_eq!(refused.message, format!("{denied}: not like this"));
    let refused = plane.create(config_map("plain", &json!({}))).await.unwrap_err();
    assert_eq!((refused.code, refused.message), (400, format!("{denied} without explanation")));
    let mut context = Context::default();
    plane.create_as(&mut context, config_map("warned", &json!({}))).await.unwrap();
    assert_eq!(context.warnings, ["careful"]);
}

#[tokio::test]
async fn only_what_matches_is_asked_about() {
    let plane = Plane::new(allow).await;
    let kind = "ValidatingWebhookConfiguration";
    let rules = |operation: &str, resources: &str| json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": [operation], "resources": [resources]}]);
    plane.hook(kind, "update", json!({"rules": rules("UPDATE", "*")})).await;
    plane.hook(kind, "delete", json!({"rules": rules("DELETE", "configmaps")})).await;
    plane.hook(kind, "part", json!({"rules": rules("CREATE", "configmaps/status")})).await;
    plane.hook(kind, "labels", json!({"objectSelector": {"matchLabels": {"asked": "yes"}}})).await;
    let namespaces = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}]});
    plane.hook(kind, "elsewhere", json!({"namespaceSelector": namespaces})).await;
    let conditions = json!([{"name": "long", "expression": "request.operation == 'CREATE' && object.metadata.name.size() > 3"}]);
    plane.hook(kind, "condition", json!({"matchConditions": conditions})).await;
    plane.create(config_map("x", &json!({}))).await.unwrap();
    assert_eq!(plane.paths(), [""; 0]);
    plane.create(config_map("long-name", &json!({"asked": "yes"}))).await.unwrap();
    let mut paths = plane.paths();
    paths.sort();
    assert_eq!(paths, ["condition", "labels"]);
    plane.asked.lock().clear();
    let served = plane.registry.served("", "v1", "configmaps").unwrap();
    let body = PatchBody::Merge(Bytes::from_static(br#"{"data":{"a":"c"}}"#));
    let mut context = Context::default();
    plane.registry.patch(&mut context, &served, "default", "x", Subresource::None, body).await.unwrap();
    let update = plane.asked.lock()[0].1["request"].clone();
    assert_eq!(
        (&update["oldObject"]["data"]["a"], &update["object"]["data"]["a"]),
        (&json!("b"), &json!("c"))
    );
    plane.registry.delete(&mut context, &served, "default", "x", &DeleteOptions::default()).await.unwrap();
    assert_eq!(plane.paths(), ["update", "delete"]);
    assert_eq!(plane.asked.lock()[1].1["request"]["object"], Value::Null);
}

#[tokio::test]
async fn a_call_that_fails() {
    let plane = Plane::new(|_, _| json!({"allowed": true, "patch": "W10="})).await;
    let kind = "MutatingWebhookConfiguration";
    plane.hook(kind, "broken", json!({"objectSelector": {"matchLabels": {"broken": "yes"}}})).await;
    let away = json!({"url": "https://127.0.0.1:1/"});
    let unreachable = json!({"clientConfig": away, "failurePolicy": "Ignore"});
    plane.hook(kind, "away", unreachable).await;
    plane.create(config_map("x", &json!({}))).await.unwrap();
    let refused = plane.create(config_map("y", &json!({"broken": "yes"}))).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (500, "InternalError"));
    assert_eq!(
        refused.message,
        "Internal error occurred: failed calling webhook \"broken.hooks.example.com\": received invalid webhook \
         response: webhook returned response.patch but not response.patchType"
    );
    let missing = json!({"clientConfig": {"service": {"name": "hook", "namespace": "default"}},
                         "objectSelector": {"matchLabels": {"missing": "yes"}}});
    plane.hook(kind, "missing", missing).await;
    let refused = plane.create(config_map("z", &json!({"missing": "yes"}))).await.unwrap_err();
    assert_eq!(
        refused.message,
        "Internal error occurred: failed calling webhook \"missing.hooks.example.com\": failed to call webhook: \
         Post \"https://hook.default.svc:443/?timeout=10s\": service \"hook\" not found"
    );
}

#[tokio::test]
async fn configurations_are_exempt_and_deleted_ones_forgotten() {
    let plane = Plane::new(|_, _| json!({"allowed": false})).await;
    let all = json!({"rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]});
    plane.hook("ValidatingWebhookConfiguration", "no", all).await;
    plane.create(config_map("x", &json!({}))).await.unwrap_err();
    let group = "admissionregistration.k8s.io";
    let served = plane.registry.served(group, "v1", "validatingwebhookconfigurations").unwrap();
    let name = "no-validatingwebhookconfiguration";
    let options = DeleteOptions::default();
    plane.registry.delete(&mut Context::default(), &served, "", name, &options).await.unwrap();
    plane.create(config_map("x", &json!({}))).await.unwrap();
}

fn policy(spec: Value) -> Value {
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "rules"},
        "spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]},
        ]}},
    });
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    policy
}

fn binding(actions: Value, params: Value) -> Value {
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "bound"}, "spec": {"policyName": "rules", "validationActions": actions},
    });
    if !params.is_null() {
        binding["spec"]["paramRef"] = params;
    }
    binding
}

#[tokio::test]
async fn policies_deny_with_their_words() {
    let plane = Plane::new(allow).await;
    let spec = json!({
        "variables": [{"name": "keys", "expression": "has(object.data) ? object.data.size() : 0"}],
        "matchConditions": [{"name": "not-exempt", "expression": "!object.metadata.name.startsWith('exempt')"}],
        "validations": [
            {"expression": "variables.keys < 2", "messageExpression": "'too many keys: ' + string(variables.keys)"},
            {"expression": "object.metadata.name != 'bad'", "reason": "Forbidden"},
        ],
    });
    plane.create(policy(spec)).await.unwrap();
    // A policy without a binding has no effect.
    plane.create(config_map("bad", &json!({}))).await.unwrap();
    plane.create(binding(json!(["Deny"]), Value::Null)).await.unwrap();
    let mut two = config_map("two", &json!({}));
    two["data"]["c"] = "d".into();
    let denied = "ValidatingAdmissionPolicy 'rules' with binding 'bound' denied request";
    let refused = plane.create(two.clone()).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (422, "Invalid"));
    assert_eq!(refused.message, format!("configmaps \"two\" is forbidden: {denied}: too many keys: 2"));
    let refused = plane.create(config_map("bad", &json!({}))).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (403, "Forbidden"));
    let why = "failed expression: object.metadata.name != 'bad'";
    assert_eq!(refused.message, format!("configmaps \"bad\" is forbidden: {denied}: {why}"));
    two["metadata"]["name"] = "exempt".into();
    plane.create(two).await.unwrap();
}

#[tokio::test]
async fn policies_with_parameters_warn() {
    let plane = Plane::new(allow).await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.metadata.name in params.data", "message": "unknown name"}],
    });
    plane.create(policy(spec)).await.unwrap();
    plane.create(config_map("names", &json!({}))).await.unwrap();
    let params = json!({"name": "names", "parameterNotFoundAction": "Deny"});
    plane.create(binding(json!(["Warn"]), params)).await.unwrap();
    let mut context = Context::default();
    plane.create_as(&mut context, config_map("a", &json!({}))).await.unwrap();
    assert_eq!(context.warnings, [""; 0]);
    plane.create_as(&mut context, config_map("other", &json!({}))).await.unwrap();
    let warning =
        "Validation failed for ValidatingAdmissionPolicy 'rules' with binding 'bound': unknown name";
    assert_eq!(context.warnings, [warning]);
}
