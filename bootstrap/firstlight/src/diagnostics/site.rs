//! The answers of the endpoints for metrics and health checks.

use std::sync::Arc;

use bytes::Bytes;
use engine::Manager;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use super::authorization::Authorizer;
use crate::http_server::text;

/// The endpoints that one address serves.
pub(super) enum Site {
    /// `/healthz` and `/readyz`.
    Health(Manager),
    /// `/metrics`.
    Metrics {
        /// The metrics of the process.
        metrics: metrics::Metrics,
        /// Authorizes requests. `None` allows every request.
        authorizer: Option<Box<Authorizer>>,
    },
}

impl Site {
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
        }
        match &*self {
            Self::Health(_) if is(path, "/healthz") => text(StatusCode::OK, "ok"),
            Self::Health(manager) if is(path, "/readyz") => {
                if manager.is_synced() {
                    text(StatusCode::OK, "ok")
                } else {
                    let why = "[-]informer-sync failed: not all caches are synced\nreadyz check failed\n";
                    text(StatusCode::INTERNAL_SERVER_ERROR, why)
                }
            }
            Self::Metrics { metrics, authorizer } if path == "/metrics" => {
                if let Some(authorizer) = authorizer
                    && let Err(refusal) = authorizer.check(request.headers(), path).await
                {
                    return text(refusal, refusal.canonical_reason().unwrap_or_default());
                }
                let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
                let (media, text) = metrics.answer(accept);
                let mut answer = Response::new(Full::from(text));
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
                answer
            }
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

/// Returns whether `path` is `check` or below it, for example `/readyz/ping` for `/readyz`.
fn is(path: &str, check: &str) -> bool {
    path.strip_prefix(check).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
