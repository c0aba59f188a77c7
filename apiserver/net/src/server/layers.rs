//! What all servers do with each request: an id, a span, and an answer even if the handler panics.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, StatusCode, Uri};
use machinery::random::Random;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::trace::TraceLayer;
use tracing::Span;

use crate::limits::REQUEST_ID_BYTES;
use crate::request_id::request_id;

/// The header with the id of a request, in both directions.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Adds the layers to a router.
pub(super) fn with_layers(router: Router, random: &Random) -> Router {
    let trace = TraceLayer::new_for_http()
        .make_span_with(span)
        .on_request(())
        .on_response(answered)
        .on_body_chunk(())
        .on_eos(())
        .on_failure(());
    router
        .layer(CatchPanicLayer::custom(panicked))
        .layer(trace)
        .layer(from_fn_with_state(random.clone(), with_id))
}

/// Removes all slashes but one from the beginning of the path.
pub(super) fn with_one_slash<B>(mut request: http::Request<B>) -> http::Request<B> {
    let uri = request.uri();
    if uri.path().starts_with("//")
        && let Some(path) = uri.path_and_query()
        && let Ok(path) = format!("/{}", path.as_str().trim_start_matches('/')).parse::<PathAndQuery>()
    {
        *request.uri_mut() = Uri::from(path);
    }
    request
}

/// Takes over the id that the client has chosen, or gives one, and returns it with the answer.
async fn with_id(State(random): State<Random>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers(), &REQUEST_ID, REQUEST_ID_BYTES, &random);
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let mut answer = next.run(request).await;
    answer.headers_mut().insert(REQUEST_ID, id);
    answer
}

/// Returns the span of a request. It has the pattern that the path matched, because the path itself may hold a token.
fn span(request: &Request<Body>) -> Span {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    tracing::debug_span!("request", request_id = id, method = %request.method(), path)
}

fn answered(answer: &http::Response<Body>, elapsed: Duration, _: &Span) {
    tracing::debug!(code = answer.status().as_u16(), ?elapsed, "answered");
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or_default(), "a request panicked");
    let mut answer = Response::new(Body::from("this request failed; the server's log says why\n"));
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
