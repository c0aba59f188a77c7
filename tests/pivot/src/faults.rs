//! Faults on the connections between a pivot and the servers, planned by request number.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use chrono::{DateTime, Utc};
use http::{HeaderValue, Method, Request, Response, header};
use kube::client::Body as ClientBody;
use parking_lot::Mutex;
use serving::{Body, ClientService};
use tokio::sync::Notify;
use tower_service::Service;

use crate::place::Place;
use crate::watch::Watch;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The pivot is killed before the server sees the request.
    KillBefore,
    /// The pivot is killed after the server has done it.
    KillAfter,
    /// This server cannot be reached for this number of requests.
    Away(u64),
    /// The server executes the request, and the response is lost.
    LostAnswer,
}

/// Plans faults for the requests of a pivot, and counts and records these requests.
#[derive(Clone, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    killed: Notify,
}

#[derive(Default)]
struct State {
    requests: u64,
    planned: Option<(u64, Fault)>,
    away: Option<(&'static str, u64)>,
    trace: Vec<String>,
    dates: HashMap<&'static str, String>,
}

enum Verdict {
    Pass,
    Kill { done: bool },
    Refuse,
    Lose,
}

impl Faults {
    /// Plans `fault` for request number `request`, counted from 1 over both servers.
    pub fn plan(&self, request: u64, fault: Fault) {
        self.0.state.lock().planned = Some((request, fault));
    }

    /// Sets the `Date` header of all responses of the server `role`.
    pub fn date(&self, role: &'static str, date: DateTime<Utc>) {
        self.0.state.lock().dates.insert(role, date.format("%a, %d %b %Y %H:%M:%S GMT").to_string());
    }

    /// Removes the planned fault and makes both servers reachable.
    pub fn clear(&self) {
        let mut state = self.0.state.lock();
        (state.planned, state.away) = (None, None);
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.0.state.lock().requests
    }

    /// Server, method and path of each request, in order.
    pub fn trace(&self) -> Vec<String> {
        self.0.state.lock().trace.clone()
    }

    /// Returns when the pivot is killed.
    pub async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// A service that sends requests to `place` through these faults.
    pub fn between(&self, place: &Place, watch: &Watch) -> Faulty {
        self.between_as(access::User::master("pivot"), place, watch)
    }

    /// Like [`Faults::between`], for another user.
    pub fn between_as(&self, user: access::User, place: &Place, watch: &Watch) -> Faulty {
        Faulty {
            role: place.role,
            inner: place.plane.server.client_service(user),
            faults: self.clone(),
            watch: watch.clone(),
        }
    }

    fn judge(&self, role: &'static str, method: &Method, path: &str) -> Verdict {
        let mut state = self.0.state.lock();
        state.requests += 1;
        state.trace.push(format!("{role} {method} {path}"));
        if let Some((number, fault)) = state.planned
            && number == state.requests
        {
            state.planned = None;
            match fault {
                Fault::KillBefore => return Verdict::Kill { done: false },
                Fault::KillAfter => return Verdict::Kill { done: true },
                Fault::LostAnswer => return Verdict::Lose,
                Fault::Away(requests) => state.away = Some((role, requests)),
            }
        }
        if let Some((away, left)) = &mut state.away
            && *away == role
            && *left > 0
        {
            *left -= 1;
            return Verdict::Refuse;
        }
        Verdict::Pass
    }
}

/// A server behind the planned faults.
#[derive(Clone)]
pub struct Faulty {
    role: &'static str,
    inner: ClientService,
    faults: Faults,
    watch: Watch,
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset")
}

impl Service<Request<ClientBody>> for Faulty {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let verdict = self.faults.judge(self.role, request.method(), &path);
        let (faults, watch) = (self.faults.clone(), self.watch.clone());
        if matches!(verdict, Verdict::Refuse) {
            return Box::pin(async { Err(cut_off()) });
        }
        if matches!(verdict, Verdict::Kill { done: false }) {
            faults.0.killed.notify_one();
            return Box::pin(std::future::pending());
        }
        let writes = request.method() != Method::GET;
        let date = faults.0.state.lock().dates.get(self.role).cloned();
        let date = date.and_then(|date| HeaderValue::from_str(&date).ok());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(mut answer) = answer.await;
            if let Some(date) = date {
                answer.headers_mut().insert(header::DATE, date);
            }
            if writes {
                watch.look();
            }
            match verdict {
                Verdict::Kill { .. } => {
                    faults.0.killed.notify_one();
                    std::future::pending().await
                }
                Verdict::Lose => Err(cut_off()),
                Verdict::Pass | Verdict::Refuse => Ok(answer),
            }
        })
    }
}
