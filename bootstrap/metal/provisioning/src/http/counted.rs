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
fn service(path: &str) -> &'static str {
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
fn shown(path: &str) -> String {
    let path = without_token(path).1;
    let public = if path.starts_with(media::FOLDER) { path.rsplit_once('/') } else { None };
    public.map_or_else(|| path.to_owned(), |(folder, _)| format!("{folder}/…"))
}

#[cfg(test)]
mod tests {
    use super::{service, shown};

    #[test]
    fn each_path_has_its_service() {
        for (path, expected) in [
            ("/agent/v1/enrol", "agent"),
            ("/boot/script/52-54-00-00-00-01.ipxe", "script"),
            ("/boot/media/metal/host-0/1234.iso", "media"),
            ("/boot/uki/x86_64.efi", "boot"),
            ("/images/a.raw", "images"),
            ("/v2/pause/manifests/3.10", "registry"),
            ("/healthz", "healthz"),
            ("/nocloud/user-data", "metadata"),
            ("/made-up", "metadata"),
        ] {
            assert_eq!(service(path), expected, "{path}");
        }
    }

    #[test]
    fn the_secret_part_of_a_path_is_not_shown() {
        assert_eq!(shown("/boot/media/metal/host-0/1234.iso"), "/boot/media/metal/host-0/…");
        assert_eq!(shown("/metadata/1234/nocloud/user-data"), "/nocloud/user-data");
        assert_eq!(shown("/boot/script/52-54-00-00-00-01.ipxe"), "/boot/script/52-54-00-00-00-01.ipxe");
    }
}
