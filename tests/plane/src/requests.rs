//! Counts the writes of the controllers, refuses given ones, and kills the process at a given write.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body as ClientBody;
use parking_lot::Mutex;
use serving::{Body, ClientService};
use tokio::sync::Notify;
use tower_service::Service;

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
    kill: Option<Kill>,
    trace: Vec<String>,
    refused: Option<String>,
}

/// The answer to a refused write.
const FORBIDDEN: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"the test refuses it"}"#;

impl Requests {
    /// Plans a kill.
    pub fn plan(&self, kill: Kill) {
        self.0.state.lock().kill = Some(kill);
    }

    /// Refuses each write with this method and path (`DELETE /api/v1/…`) from now on, with `*` at the end for any further text; `None`
    /// permits all again.
    pub fn refuse(&self, write: Option<&str>) {
        self.0.state.lock().refused = write.map(str::to_owned);
    }

    /// Number of writes of the controllers.
    pub fn writes(&self) -> u64 {
        self.0.state.lock().writes
    }

    /// Method and path of each write, in order.
    pub fn trace(&self) -> Vec<String> {
        self.0.state.lock().trace.clone()
    }

    /// Returns when the process is to be killed.
    pub async fn killed(&self) {
        self.0.killed.notified().await;
    }

    fn is_refused<B>(&self, request: &Request<B>) -> bool {
        let name = || format!("{} {}", request.method(), request.uri().path());
        self.0.state.lock().refused.as_ref().is_some_and(|refused| match refused.strip_suffix('*') {
            Some(start) => name().starts_with(start),
            None => *refused == name(),
        })
    }

    fn note<B>(&self, request: &Request<B>) -> Option<Moment> {
        if request.method() == Method::GET {
            return None;
        }
        let mut state = self.0.state.lock();
        state.writes += 1;
        state.trace.push(format!("{} {}", request.method(), request.uri().path()));
        let due = state.kill.filter(|kill| kill.write == state.writes)?;
        state.kill = None;
        Some(due.moment)
    }
}

/// The service that controllers send their requests to.
#[derive(Clone)]
pub struct Counting {
    inner: ClientService,
    requests: Requests,
}

impl Counting {
    /// Wraps `inner`.
    pub fn new(inner: ClientService, requests: &Requests) -> Self {
        Self { inner, requests: requests.clone() }
    }
}

impl Service<Request<ClientBody>> for Counting {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let moment = self.requests.note(&request);
        let requests = self.requests.clone();
        if moment == Some(Moment::Before) {
            return Box::pin(async move {
                requests.0.killed.notify_one();
                std::future::pending().await
            });
        }
        if requests.is_refused(&request) {
            let mut answer = Response::new(Body::from(FORBIDDEN));
            *answer.status_mut() = StatusCode::FORBIDDEN;
            return Box::pin(async { Ok(answer) });
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if moment == Some(Moment::After) {
                requests.0.killed.notify_one();
                return std::future::pending().await;
            }
            answer
        })
    }
}
