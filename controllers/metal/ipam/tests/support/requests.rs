//! Counts the writes of controllers, and ends the controllers at a given write.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::client::Body as ClientBody;
use parking_lot::Mutex;
use serving::{Body, ClientService};
use tokio::sync::Notify;
use tower_service::Service;

/// The point in a write at which the controllers end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the server receives the request.
    Before,
    /// After the server has executed it, before the controller receives the response.
    After,
}

/// The writes of the controllers over all lives.
#[derive(Clone, Default)]
pub struct Requests(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<(u64, Option<(u64, Moment)>)>,
    killed: Notify,
}

impl Requests {
    /// Ends the controllers at the write with this number.
    pub fn kill_at(&self, write: u64, moment: Moment) {
        self.0.state.lock().1 = Some((write, moment));
    }

    /// Returns the number of writes.
    pub fn writes(&self) -> u64 {
        self.0.state.lock().0
    }

    /// Waits until the controllers must end.
    pub async fn killed(&self) {
        self.0.killed.notified().await;
    }

    fn count<B>(&self, request: &Request<B>) -> Option<Moment> {
        if request.method() == Method::GET {
            return None;
        }
        let mut state = self.0.state.lock();
        state.0 += 1;
        let (_, moment) = state.1.filter(|(write, _)| *write == state.0)?;
        Some(moment)
    }
}

/// The service to which controllers send their requests.
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
        let moment = self.requests.count(&request);
        let requests = self.requests.clone();
        let answer = (moment != Some(Moment::Before)).then(|| self.inner.call(request));
        Box::pin(async move {
            let answer = match answer {
                Some(answer) => Some(answer.await),
                None => None,
            };
            match (moment, answer) {
                (None, Some(answer)) => answer,
                _ => {
                    requests.0.killed.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}
