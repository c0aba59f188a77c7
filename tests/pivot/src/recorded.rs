//! Records the requests of the controllers of both sides, and whether they changed an object.

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

/// Requests of the controllers of both sides, in one sequence.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Entry>>>);

/// A request with a response.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The server whose controllers sent it.
    pub role: &'static str,
    /// Method and path.
    pub request: String,
    /// Whether it made a change that controllers make only to objects that they reconcile.
    pub reconciles: bool,
    /// Whether the other side had a Cluster or ClusterClass that was not paused at that time.
    pub other_active: bool,
}

impl Record {
    /// A client for the controllers of `place`; `other` is the other side.
    pub fn client(&self, place: &Place, other: &Place) -> kube::Client {
        let user = access::User::master(server::names::CONTROLLER_USER);
        let recorded = Recorded {
            role: place.role,
            inner: place.plane.server.client_service(user),
            own: place.store.clone(),
            other: other.store.clone(),
            record: self.clone(),
        };
        kube::Client::new(recorded, "default")
    }

    /// The requests of one side that changed an object.
    pub fn reconciling(&self, role: &str) -> Vec<Entry> {
        self.0.lock().iter().filter(|entry| entry.role == role && entry.reconciles).cloned().collect()
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there were no requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests that changed an object while the other side had an object that was not paused.
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

/// Whether the path is that of an Event, a Lease or a review.
fn is_of_no_cluster(path: &str) -> bool {
    ["/events", "/leases", "/selfsubject"].iter().any(|part| path.contains(part))
}

impl Recorded {
    /// An object without its finalizers, because controllers also add finalizers to paused objects.
    fn content(&self, path: &str) -> Option<Value> {
        let stored = self.own.get(&key(path)?)?;
        let mut object = normal(serde_json::from_slice(&stored.value).ok()?);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
        Some(object)
    }
}

/// The store key of the namespaced object in a path; `None` for other paths.
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
