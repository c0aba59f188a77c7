//! A server over a registry on the memory engine, called without sockets.

use std::sync::Arc;

use ::access::authorize::AllowAll;
use ::access::{Rbac, Tokens, User};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Admission, Housekeeping, Options, Registry, TokenSecrets};
use serde_json::{Value, json};
use serving::{Body, Server};
use store::{Memory, Store};

pub struct Harness {
    pub server: Server,
    pub user: Option<User>,
    pub clock: Clock,
}

pub struct Answer {
    pub code: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }
}

pub async fn registry(clock: &Clock) -> Registry {
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    Registry::open(store, clock.clone(), Random::seeded(1), Options::default()).await.unwrap()
}

impl Harness {
    pub async fn new() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let server = Server::builder(registry(&clock).await, clock.clone()).build();
        Self { server, user: Some(User::master("admin")), clock }
    }

    /// Creates a harness in which everybody may do everything.
    pub async fn open_to_all() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let server = Server::builder(registry(&clock).await, clock.clone()).authorizer(AllowAll).build();
        Self { server, user: Some(User::master("admin")), clock }
    }

    /// Creates a harness with RBAC and tokens.
    pub async fn guarded() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let random = Random::seeded(1);
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let rbac = Rbac::new(store.clone());
        let keys = pki::TokenKeys::generate(&random).unwrap();
        let tokens = Tokens::new(store.clone(), clock.clone(), random.clone(), keys);
        let token_secrets =
            TokenSecrets { signer: Arc::new(tokens.clone()), root_certificate: Some("authority".to_owned()) };
        let housekeeping = Housekeeping { token_secrets: Some(token_secrets), ..Housekeeping::default() };
        let admission: Vec<Arc<dyn Admission>> = vec![Arc::new(rbac.clone())];
        let options = Options { admission, housekeeping, ..Options::default() };
        let registry = Registry::open(store, clock.clone(), random, options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).authorizer(rbac).tokens(tokens).build();
        Self { server, user: Some(User::master("admin")), clock }
    }

    /// Creates a harness with the resource `widgets.golden.test` and the cluster-scoped `gizmos`.
    pub async fn with_widgets() -> Self {
        let harness = Self::new().await;
        for (plural, kind, scope) in [("widgets", "Widget", "Namespaced"), ("gizmos", "Gizmo", "Cluster")] {
            let crd = crd(plural, kind, scope);
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let created = harness.post(path, &crd).await;
            assert_eq!(created.code, 201, "{}", created.text());
        }
        harness
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Full::new(bytes::Bytes::copy_from_slice(body))).unwrap();
        if let Some(user) = &self.user {
            request.extensions_mut().insert(user.clone());
        }
        self.server.handle(request).await
    }

    pub async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let (parts, body) = self.send(method, path, headers, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { code: parts.status.as_u16(), headers: parts.headers, bytes }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], b"").await
    }

    pub async fn accept(&self, path: &str, accept: &str) -> Answer {
        self.call("GET", path, &[("accept", accept)], b"").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes()).await
    }
}

pub fn crd(plural: &str, kind: &str, scope: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.golden.test")},
        "spec": {
            "group": "golden.test", "scope": scope,
            "names": {
                "plural": plural, "singular": kind.to_lowercase(), "kind": kind,
                "listKind": format!("{kind}List"), "shortNames": [plural.get(..2).unwrap()],
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "size of the widget"},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                }}},
            }],
        },
    })
}

pub fn widget(name: &str, size: i64) -> Value {
    json!({
        "apiVersion": "golden.test/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size},
    })
}

/// The path of widgets in the namespace `default`.
pub const WIDGETS: &str = "/apis/golden.test/v1/namespaces/default/widgets";
