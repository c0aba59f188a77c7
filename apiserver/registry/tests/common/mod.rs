//! A registry on a memory engine, with custom kinds and a conversion webhook.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{
    Context, Converter, Input, Options, Registry, Served, WebhookCaller, WebhookRequest, WebhookResponse,
};
use serde_json::{Value, json};
use store::{Memory, Store};

pub const GROUP: &str = "test.example.com";

type Answer = dyn Fn(&Value) -> Result<Value, String> + Send + Sync;

/// A webhook in this process. It answers reviews with a function and records them.
#[derive(Clone)]
pub struct Webhook {
    answer: Arc<Mutex<Arc<Answer>>>,
    /// If it is there, it is the response to every request.
    pub response: Arc<Mutex<Option<WebhookResponse>>>,
    pub requests: Arc<Mutex<Vec<(WebhookRequest, Value)>>>,
}

impl Webhook {
    pub fn new(answer: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(Mutex::new(Arc::new(answer))),
            response: Arc::default(),
            requests: Arc::default(),
        }
    }

    pub fn answers(&self, answer: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static) {
        *self.answer.lock().unwrap() = Arc::new(answer);
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl WebhookCaller for Webhook {
    fn post(&self, request: WebhookRequest) -> BoxFuture<'_, Result<WebhookResponse, String>> {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        self.requests.lock().unwrap().push((request, body.clone()));
        let answer = self.answer.lock().unwrap().clone();
        let response = self.response.lock().unwrap().clone();
        async move {
            if let Some(response) = response {
                return Ok(response);
            }
            let body = answer(&body)?;
            let content_type = "application/json".to_owned();
            Ok(WebhookResponse { code: 200, content_type, body: body.to_string().into() })
        }
        .boxed()
    }
}

/// Returns a successful review in which `convert` has changed each object.
pub fn converted(review: &Value, convert: impl Fn(&mut Value)) -> Value {
    let request = &review["request"];
    let objects = request["objects"].as_array().unwrap().iter().map(|object| {
        let mut object = object.clone();
        convert(&mut object);
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        object
    });
    let objects: Vec<Value> = objects.collect();
    json!({"kind": "ConversionReview", "apiVersion": review["apiVersion"], "response": {
        "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}})
}

pub async fn registry() -> (Registry, Webhook) {
    registry_with(None).await
}

pub async fn registry_with(converter: Option<Arc<dyn Converter>>) -> (Registry, Webhook) {
    let webhook = Webhook::new(|review| Ok(converted(review, |_| ())));
    let options = Options { converter, webhooks: Some(Arc::new(webhook.clone())), ..Options::default() };
    (open_with(options).await, webhook)
}

pub async fn open_with(options: Options) -> Registry {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    Registry::open(store, clock, Random::seeded(1), options).await.unwrap()
}

/// Returns an entry of `spec.versions`.
pub fn version(name: &str, storage: bool, schema: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}})
}

/// Returns a definition for `plural`. The kind is the plural without its last letter.
pub fn definition(plural: &str, versions: Value) -> Value {
    let singular = plural.strip_suffix('s').unwrap();
    let kind = format!("{}{}", singular[..1].to_uppercase(), &singular[1..]);
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List")}}})
}

pub fn context() -> Context {
    Context { field_manager: "test".into(), ..Context::default() }
}

/// Installs or replaces a definition, and returns the resource in its first version.
pub async fn serve(registry: &Registry, definition: &Value) -> Served {
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let name = definition["metadata"]["name"].as_str().unwrap();
    let mut object = definition.clone();
    let none = registry::Subresource::None;
    let done = if let Ok(live) = registry.get(&crds, "", name, none, "").await {
        let live: Value = serde_json::from_slice(&live).unwrap();
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        registry.update(&mut context(), &crds, "", name, none, Input::new(object)).await
    } else {
        registry.create(&mut context(), &crds, "", Input::new(object)).await
    };
    done.unwrap();
    let version = definition["spec"]["versions"][0]["name"].as_str().unwrap();
    self::served(registry, definition, version)
}

pub fn served(registry: &Registry, definition: &Value, version: &str) -> Served {
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
    registry.served(GROUP, version, plural).unwrap()
}
