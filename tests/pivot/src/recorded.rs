//! The record of what controllers of both sides ask for, and of what that changes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::client::Body as ClientBody;
use parking_lot::Mutex;
use pivot::normal::normal;
use serde_json::Value;
use serving::{Body, ClientService};
use store::{Key, Store};
use tower_service::Service;

use crate::place::Place;
use crate::watch::active;

/// Requests of the controllers of both sides, in one order.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Entry>>>);

/// One request that was answered.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Whose controllers asked.
    pub role: &'static str,
    /// Method and path.
    pub request: String,
    /// It changed something that a controller does only to what it reconciles.
    pub reconciles: bool,
    /// The other side had a Cluster that was not paused then.
    pub other_active: bool,
}

impl Record {
    /// A client for the controllers of `place`, beside `other`.
    pub fn client(&self, place: &Place, other: &Place) -> kube::Client {
        let user = access::User::master(firstlight::names::CONTROLLER_USER);
        let recorded = Recorded {
            role: place.role,
            inner: place.plane.server.client_service(user),
            own: place.store.clone(),
            other: other.store.clone(),
            record: self.clone(),
        };
        kube::Client::new(recorded, "default")
    }

    /// The requests of one side that changed something.
    pub fn reconciling(&self, role: &str) -> Vec<Entry> {
        self.0.lock().iter().filter(|entry| entry.role == role && entry.reconciles).cloned().collect()
    }

    /// How many requests there were.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests of one side that changed something while the other side could do so too.
    pub fn violations(&self) -> Vec<String> {
        let record = self.0.lock();
        let both = record.iter().filter(|entry| entry.reconciles && entry.other_active);
        both.map(|entry| format!("{} {}", entry.role, entry.request)).collect()
    }
}

#[derive(Clone)]
struct Recorded {
    role: &'static str,
    inner: ClientService,
    own: Store,
    other: Store,
    record: Record,
}

impl Service<Request<ClientBody>> for Recorded {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let this = self.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let before = this.content(&path);
            let Ok(answer) = answer.await;
            let writes = method != Method::GET && answer.status().is_success();
            let created = method == Method::POST && !is_of_no_cluster(&path);
            this.record.0.lock().push(Entry {
                role: this.role,
                reconciles: writes && (created || before != this.content(&path)),
                other_active: !active(&this.other).is_empty(),
                request: format!("{method} {path}"),
            });
            Ok(answer)
        })
    }
}

/// Events, leases and reviews.
fn is_of_no_cluster(path: &str) -> bool {
    ["/events", "/leases", "/selfsubject"].iter().any(|part| path.contains(part))
}

impl Recorded {
    /// What an object holds beside the finalizers, which controllers put on what is paused as well.
    fn content(&self, path: &str) -> Option<Value> {
        let stored = self.own.get(&key(path)?)?;
        let mut object = normal(serde_json::from_slice(&stored.value).ok()?);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
        Some(object)
    }
}

/// The key of the object in a namespace that a path names; `None` where it names none.
fn key(path: &str) -> Option<Key> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts[..] {
        ["api", _, "namespaces", ref rest @ ..] => ("", rest),
        ["apis", group, _, "namespaces", ref rest @ ..] => (group, rest),
        _ => return None,
    };
    let (namespace, plural, name) = (rest.first()?, rest.get(1)?, rest.get(2)?);
    let group = if group.is_empty() { String::new() } else { format!("{group}/") };
    Key::parse(&format!("/registry/{group}{plural}/{namespace}/{name}")).ok()
}
