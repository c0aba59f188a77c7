//! Limits for the answers of a workload cluster. Its API server is somebody else's: it may be slow, silent, or send without end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep, timeout};
use tower::{BoxError, Layer, Service};

use crate::limits::ANSWERS_TOGETHER_BYTES;

/// The head of an answer must arrive within this time, also that of a watch. It is longer than the 10 s that a webhook of the cluster may
/// take by default.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// The body of an answer that is no watch must be complete within this time after its head.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit for the body of an answer that is no watch. Lists are read in pages of at most 500 objects.
const BODY_LIMIT: u64 = 32 << 20;
/// Limit for all bodies that one cluster sends at the same time.
const TOGETHER_LIMIT: u64 = 64 << 20;
/// Limit for one event of a watch, which is a line: an object has at most 3 MiB.
const EVENT_LIMIT: u64 = 8 << 20;

/// The bytes of all bodies that the clients of all workload clusters are receiving, but for watches.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<AtomicU64>);

impl Answers {
    /// Returns how many bytes are being received.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Adds the limits to a client.
#[derive(Debug, Clone, Default)]
pub struct BoundedLayer {
    together: Together,
}

impl BoundedLayer {
    /// Returns the limits of one of the clients whose bodies `all` counts.
    pub fn within(all: &Answers) -> Self {
        Self { together: Together { own: Arc::default(), all: all.clone() } }
    }
}

/// The bytes of all bodies that a client is receiving, but for watches, and those of all clients.
#[derive(Debug, Clone, Default)]
struct Together {
    own: Arc<AtomicU64>,
    all: Answers,
}

impl Together {
    /// Counts received bytes; returns how many bytes the client is receiving, and all clients.
    fn add(&self, size: u64) -> (u64, u64) {
        let add = |count: &AtomicU64| count.fetch_add(size, Ordering::Relaxed) + size;
        (add(&self.own), add(&self.all.0))
    }

    fn subtract(&self, size: u64) {
        self.own.fetch_sub(size, Ordering::Relaxed);
        self.all.0.fetch_sub(size, Ordering::Relaxed);
    }
}

impl<S> Layer<S> for BoundedLayer {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Bounded<S> {
        Bounded { inner, together: self.together.clone() }
    }
}

/// A client with limits for its answers.
#[derive(Debug, Clone)]
pub struct Bounded<S> {
    inner: S,
    together: Together,
}

impl<S, A, B> Service<Request<A>> for Bounded<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<BoundedBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (limits, together) = (Limits::of(&request), self.together.clone());
        let answer = self.inner.call(request);
        async move {
            let Ok(answer) = timeout(HEAD_TIMEOUT, answer).await else {
                return Err(timed_out(format!("no answer within {} s", HEAD_TIMEOUT.as_secs())).into());
            };
            Ok(answer.map_err(Into::into)?.map(|body| BoundedBody::new(body, limits, together)))
        }
        .boxed()
    }
}

fn timed_out(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Which limits hold for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// The body is one object or list.
    Whole,
    /// The body is a stream of lines, which its reader ends.
    Lines,
}

impl Limits {
    fn of<A>(request: &Request<A>) -> Self {
        let mut parameters = request.uri().query().unwrap_or_default().split('&');
        let is_stream = parameters.any(|pair| matches!(pair, "watch=true" | "watch=1"))
            || request.headers().contains_key(header::UPGRADE);
        if is_stream { Self::Lines } else { Self::Whole }
    }
}

/// A body with limits. Its errors name the limit.
pub struct BoundedBody<B> {
    inner: Pin<Box<B>>,
    limits: Limits,
    /// Bytes of the body, or of the current line.
    received: u64,
    together: Together,
    deadline: Pin<Box<Sleep>>,
}

impl<B> Drop for BoundedBody<B> {
    fn drop(&mut self) {
        if self.limits == Limits::Whole {
            self.together.subtract(self.received);
        }
    }
}

impl<B> BoundedBody<B> {
    fn new(inner: B, limits: Limits, together: Together) -> Self {
        let deadline = Box::pin(sleep(BODY_TIMEOUT));
        Self { inner: Box::pin(inner), limits, received: 0, together, deadline }
    }

    /// Counts a part of the body.
    ///
    /// # Errors
    /// The body, or the line, is longer than the limit.
    fn count(&mut self, data: &Bytes) -> io::Result<()> {
        let size = |part: &[u8]| u64::try_from(part.len()).unwrap_or(u64::MAX);
        let (limit, (own, all)) = match self.limits {
            Limits::Whole => {
                self.received += size(data);
                (BODY_LIMIT, self.together.add(size(data)))
            }
            Limits::Lines => {
                match data.iter().rposition(|byte| *byte == b'\n') {
                    Some(end) => self.received = size(&data[end + 1..]),
                    None => self.received += size(data),
                }
                (EVENT_LIMIT, (0, 0))
            }
        };
        if self.received > limit {
            return Err(io::Error::other(format!("the answer is longer than {} MiB", limit >> 20)));
        }
        if own > TOGETHER_LIMIT {
            let limit = TOGETHER_LIMIT >> 20;
            return Err(io::Error::other(format!("the answers together are longer than {limit} MiB")));
        }
        if own + all > ANSWERS_TOGETHER_BYTES {
            return Err(io::Error::other("all workload clusters together are sending too much"));
        }
        Ok(())
    }
}

impl<B> HttpBody for BoundedBody<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = this.inner.as_mut().poll_frame(context) {
            let Some(frame) = frame else { return Poll::Ready(None) };
            let frame = frame.map_err(Into::into).and_then(|frame| {
                frame.data_ref().map_or(Ok(()), |data| this.count(data))?;
                Ok(frame)
            });
            return Poll::Ready(Some(frame));
        }
        if this.limits == Limits::Whole && this.deadline.as_mut().poll(context).is_ready() {
            let text = format!("the answer was not complete within {} s", BODY_TIMEOUT.as_secs());
            return Poll::Ready(Some(Err(timed_out(text).into())));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
