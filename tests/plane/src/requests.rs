//! Counts the writes of the controllers, lets given ones fail, and kills the process at a given write.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::client::Body as ClientBody;
use machinery::random::Random;
use parking_lot::Mutex;
use serving::{Body, ClientService};
use tokio::sync::Notify;
use tower_service::Service;

pub use crate::faults::{Delivery, Fault};
use crate::faults::{changed_object, deliver, edit, is_watch};

/// The point in a request at which the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the server receives the request.
    Before,
    /// After the server has executed it, before the controller receives the response.
    After,
}

/// A planned kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// Number of the write of the controllers, counted from 1 over all lives.
    pub write: u64,
    /// The point in this write.
    pub moment: Moment,
}

/// Counts writes over all lives of the process.
#[derive(Clone, Default)]
pub struct Requests(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    killed: Notify,
}

#[derive(Default)]
struct State {
    writes: u64,
    events: u64,
    kills: BTreeMap<u64, Moment>,
    faults: BTreeMap<u64, Fault>,
    deliveries: BTreeMap<u64, Delivery>,
    trace: Vec<String>,
    reads: Vec<String>,
    refused: Option<String>,
    slow: Option<(Duration, Random)>,
}

/// What is planned for a request.
#[derive(Default)]
struct Planned {
    number: u64,
    kill: Option<Moment>,
    fault: Option<Fault>,
}

impl Requests {
    /// Plans a kill.
    pub fn plan(&self, kill: Kill) {
        self.0.state.lock().kills.insert(kill.write, kill.moment);
    }

    /// Plans what goes wrong with a write, counted from 1 over all lives.
    pub fn plan_fault(&self, write: u64, fault: Fault) {
        self.0.state.lock().faults.insert(write, fault);
    }

    /// Plans what goes wrong with an event of an object, counted from 1 over all watches and lives. Only watches that begin after the first
    /// plan of this kind are counted.
    pub fn plan_delivery(&self, event: u64, delivery: Delivery) {
        self.0.state.lock().deliveries.insert(event, delivery);
    }

    /// Refuses each write with this method and path (`DELETE /api/v1/…`) from now on, with `*` at the end for any further text; `None`
    /// permits all again.
    pub fn refuse(&self, write: Option<&str>) {
        self.0.state.lock().refused = write.map(str::to_owned);
    }

    /// Delays each request from now on, those of caches too, by a time up to `limit` that is drawn from `seed`: each controller waits for
    /// others, in another order, as on a machine that is busy.
    pub fn slow_down(&self, limit: Duration, seed: u64) {
        self.0.state.lock().slow = Some((limit, Random::seeded(seed)));
    }

    fn delay(&self) -> Option<Duration> {
        self.0.state.lock().slow.as_ref().map(|(limit, random)| limit.mul_f64(random.fraction()))
    }

    /// Number of writes of the controllers.
    pub fn writes(&self) -> u64 {
        self.0.state.lock().writes
    }

    /// Number of counted events of watches.
    pub fn events(&self) -> u64 {
        self.0.state.lock().events
    }

    /// Method and path of each write, in order.
    pub fn trace(&self) -> Vec<String> {
        self.0.state.lock().trace.clone()
    }

    /// Path of each read that is not a watch, in order.
    pub fn reads(&self) -> Vec<String> {
        self.0.state.lock().reads.clone()
    }

    /// Returns when the process is to be killed.
    pub async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// Counts an event, and returns what is planned for it.
    pub(crate) fn next_delivery(&self) -> Option<Delivery> {
        let mut state = self.0.state.lock();
        state.events += 1;
        let number = state.events;
        state.deliveries.get(&number).copied()
    }

    fn is_refused<B>(&self, request: &Request<B>) -> bool {
        let name = || format!("{} {}", request.method(), request.uri().path());
        self.0.state.lock().refused.as_ref().is_some_and(|refused| match refused.strip_suffix('*') {
            Some(start) => name().starts_with(start),
            None => *refused == name(),
        })
    }

    /// Counts a write, and returns what is planned for it.
    fn note<B>(&self, request: &Request<B>) -> Planned {
        if request.method() == Method::GET {
            if !is_watch(request) {
                self.0.state.lock().reads.push(request.uri().path().to_owned());
            }
            return Planned::default();
        }
        let mut state = self.0.state.lock();
        state.writes += 1;
        let number = state.writes;
        state.trace.push(format!("{} {}", request.method(), request.uri().path()));
        Planned { number, kill: state.kills.remove(&number), fault: state.faults.remove(&number) }
    }

    fn has_deliveries(&self) -> bool {
        !self.0.state.lock().deliveries.is_empty()
    }
}

/// The service that controllers send their requests to.
#[derive(Clone)]
pub struct Counting {
    inner: ClientService,
    user: Option<ClientService>,
    requests: Requests,
}

impl Counting {
    /// Wraps `inner`.
    pub fn new(inner: ClientService, requests: &Requests) -> Self {
        Self { inner, user: None, requests: requests.clone() }
    }

    /// Names the service of the user who makes the edits of [`Fault::Edited`].
    pub fn edited_by(self, user: ClientService) -> Self {
        Self { user: Some(user), ..self }
    }
}

/// Returns the answer to a write that is not executed.
fn refusal(code: u16) -> Response<Body> {
    let text = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{}","code":{code},"message":"the test refuses it"}}"#,
        match code {
            403 => "Forbidden",
            409 => "Conflict",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        }
    );
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer
}

impl Service<Request<ClientBody>> for Counting {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let planned = self.requests.note(&request);
        let (requests, delay) = (self.requests.clone(), self.requests.delay());
        if planned.kill == Some(Moment::Before) {
            return Box::pin(async move {
                requests.0.killed.notify_one();
                std::future::pending().await
            });
        }
        if requests.is_refused(&request) {
            return Box::pin(async { Ok(refusal(403)) });
        }
        if let Some(Fault::Refused(code)) = planned.fault {
            return Box::pin(async move { Ok(refusal(code)) });
        }
        let is_watched = is_watch(&request) && requests.has_deliveries();
        let is_edited = planned.fault == Some(Fault::Edited);
        let edited = is_edited.then(|| changed_object(&request).zip(self.user.clone())).flatten();
        let mut inner = self.inner.clone();
        Box::pin(async move {
            if let Some(by) = delay {
                tokio::time::sleep(by).await;
            }
            if let Some(Fault::Slow(by)) = planned.fault {
                tokio::time::sleep(by).await;
            }
            if let Some((path, user)) = edited {
                edit(user, path, planned.number).await;
            }
            let answer = inner.call(request).await;
            if planned.kill == Some(Moment::After) {
                requests.0.killed.notify_one();
                return std::future::pending().await;
            }
            if planned.fault == Some(Fault::Lost) {
                return Ok(refusal(504));
            }
            if is_watched { answer.map(|answer| answer.map(|body| deliver(body, requests))) } else { answer }
        })
    }
}
