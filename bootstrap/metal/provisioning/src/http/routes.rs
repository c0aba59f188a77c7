//! The routes of a [`Site`].

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use http::request::Parts;
use http::{Method, Response, StatusCode, Uri};
use net::server::send_files;

use super::counted::count;
use super::file::{self, Body};
use super::peer::Peer;
use super::site::Site;
use super::{agents, bootstrap, bundles};
use crate::bootstrap::vendor_data;
use crate::metadata::tree::without_token;
use crate::metrics::Metrics;

type OfSite = State<Arc<Site>>;

/// Returns the router of a site, which counts in `metrics`.
pub fn router(site: Arc<Site>, metrics: &Metrics) -> Router {
    Router::new()
        .route("/agent/v1/{*call}", any(of_agent))
        .route("/v2", any(of_registry))
        .route("/v2/", any(of_registry))
        .route("/v2/{*target}", any(of_registry))
        .route("/healthz", get(|| async { file::text(StatusCode::OK, "ok\n") }))
        .route(&format!("/{}/{{name}}", bundles::FOLDER), get(bundle))
        .route("/boot/script/{name}", get(script))
        .route("/boot/media/{namespace}/{name}/{file}", get(media))
        .route("/boot/{*name}", get(boot_file))
        .route("/images/{*name}", get(image))
        .method_not_allowed_fallback(only_reads)
        .fallback(of_machine)
        .layer(from_fn(send_files))
        .layer(from_fn_with_state(metrics.clone(), count))
        .with_state(site)
}

async fn only_reads() -> Response<Body> {
    file::text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n")
}

/// The part of a path after this prefix, without percent decoding.
fn after<'a>(uri: &'a Uri, prefix: &str) -> &'a str {
    uri.path().strip_prefix(prefix).unwrap_or_default()
}

async fn of_agent(State(site): OfSite, peer: Peer, request: Request) -> Response<Body> {
    let Some(served) = &site.agents else { return file::not_found() };
    let call = after(request.uri(), "/agent/v1/").to_owned();
    agents::answer(served, &call, request, &peer, &site.http(&peer)).await
}

async fn of_registry(State(site): OfSite, peer: Peer, request: Request) -> Response<Body> {
    match site.registry.answer(&request) {
        Some(answer) => answer,
        None => of_machine(State(site), peer, request).await,
    }
}

async fn bundle(State(site): OfSite, asked: Parts) -> Response<Body> {
    match &site.bundle_files {
        Some(files) => files.answer(after(&asked.uri, "/bundles/"), &asked).await,
        None => file::not_found(),
    }
}

async fn script(State(site): OfSite, peer: Peer, uri: Uri) -> Response<Body> {
    site.script(after(&uri, "/boot/script/"), uri.query(), &peer).await
}

async fn media(State(site): OfSite, asked: Parts) -> Response<Body> {
    let mut names = after(&asked.uri, "/boot/media/").split('/');
    let names = [(); 3].map(|()| names.next().unwrap_or_default());
    match &site.media {
        Some(media) => media.answer(&site.boot, names, &asked).await,
        None => file::not_found(),
    }
}

async fn boot_file(State(site): OfSite, peer: Peer, asked: Parts) -> Response<Body> {
    site.boot_file(after(&asked.uri, "/boot/"), &asked, &peer).await
}

async fn image(State(site): OfSite, asked: Parts) -> Response<Body> {
    let (name, method, headers) = (after(&asked.uri, "/images/"), &asked.method, &asked.headers);
    match site.image(name) {
        Some(path) => file::answer(&path, method, headers).await,
        None => site.registry.image(name, method, headers).unwrap_or_else(file::not_found),
    }
}

/// Answers all other paths: those of installed machines, which may begin with the machine's token.
async fn of_machine(State(site): OfSite, peer: Peer, request: Request) -> Response<Body> {
    if let (Some(reports), &Method::POST, (Some(token), vendor_data::PATH)) =
        (&site.bootstrap, request.method(), without_token(request.uri().path()))
    {
        let token = token.to_owned();
        return bootstrap::answer(reports, &token, request, &peer).await;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return only_reads().await;
    }
    let Some(metadata) = &site.metadata else { return file::not_found() };
    let answer = metadata.answer(request.uri().path(), peer.address.ip()).await;
    answer.unwrap_or_else(file::not_found)
}
