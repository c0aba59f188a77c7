//! The answers of the endpoints for metrics and health checks.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use engine::Manager;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE};

use super::authorization::Authorizer;

/// The path of the metrics, for which a user must be authorized.
const METRICS: &str = "/metrics";

/// Returns the router of `/healthz` and `/readyz`, each with single checks below it, as `/readyz/ping`.
pub(super) fn health(manager: Manager) -> Router {
    let healthy = get(async || "ok");
    let ready = get(ready);
    Router::new()
        .route("/healthz", healthy.clone())
        .route("/healthz/", healthy.clone())
        .route("/healthz/{*check}", healthy)
        .route("/readyz", ready.clone())
        .route("/readyz/", ready.clone())
        .route("/readyz/{*check}", ready)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .with_state(manager)
}

async fn ready(State(manager): State<Manager>) -> Response {
    if manager.is_synced() {
        return "ok".into_response();
    }
    let why = "[-]informer-sync failed: not all caches are synced\nreadyz check failed\n";
    (StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
}

/// Returns the router of `/metrics`, for those whom `authorizer` allows it; without one for everybody.
pub(super) fn metrics(metrics: metrics::Metrics, authorizer: Option<Authorizer>) -> Router {
    Router::new()
        .route(METRICS, get(measured))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .with_state(Arc::new(Measured { metrics, authorizer }))
}

struct Measured {
    metrics: metrics::Metrics,
    authorizer: Option<Authorizer>,
}

async fn measured(State(measured): State<Arc<Measured>>, request: Request) -> Response {
    if let Some(authorizer) = &measured.authorizer
        && let Err(refusal) = authorizer.check(request.headers(), METRICS).await
    {
        return (refusal, refusal.canonical_reason().unwrap_or_default()).into_response();
    }
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let (media, text) = measured.metrics.answer(accept);
    ([(CONTENT_TYPE, media)], text).into_response()
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "404 page not found\n")
}

async fn not_allowed() -> (StatusCode, &'static str) {
    (StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n")
}
