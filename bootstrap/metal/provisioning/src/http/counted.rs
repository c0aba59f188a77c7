//! Counts the requests of machines, and the bytes that are sent to them.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;

use super::file::Body;
use super::peer::Peer;
use crate::media;
use crate::metadata::tree::without_token;
use crate::metrics::Metrics;

/// The layer that counts a request and the bytes of its answer.
pub(super) async fn count(
    State(metrics): State<Metrics>,
    peer: Peer,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), shown(request.uri().path()));
    let service = service(request.uri().path());
    let answer = next.run(request).await;
    let status = answer.status().as_u16();
    tracing::debug!(client = %peer.address, %method, path, status, "HTTP");
    let sent = metrics.request(service, status);
    answer.map(|inner| Body::new(Counted { inner, sent }))
}

/// A response body whose bytes are added to a counter as they are sent.
struct Counted {
    inner: Body,
    sent: Counter,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.sent.inc_by(frame.data_ref().map_or(0, Bytes::len) as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Returns the service that answers requests for `path`, as a label of the metrics. All other paths are those of metadata.
pub fn service(path: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 6] = [
        ("/agent/v1/", "agent"),
        ("/boot/script/", "script"),
        (media::FOLDER, "media"),
        ("/boot/", "boot"),
        ("/images/", "images"),
        ("/v2/", "registry"),
    ];
    let found = PREFIXES.iter().find(|(prefix, _)| path.starts_with(prefix));
    match path {
        "/healthz" => "healthz",
        _ => found.map_or("metadata", |(_, service)| service),
    }
}

/// Returns a path for the log, without tokens and other secret parts.
pub fn shown(path: &str) -> String {
    let path = without_token(path).1;
    let public = if path.starts_with(media::FOLDER) { path.rsplit_once('/') } else { None };
    public.map_or_else(|| path.to_owned(), |(folder, _)| format!("{folder}/…"))
}
