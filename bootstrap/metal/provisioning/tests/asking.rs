//! Requests to a site, without sockets.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use axum::body::Body;
use http_body_util::BodyExt;
use metal_provisioning::http::routes::router;
use metal_provisioning::http::site::Site;
use metal_provisioning::metrics::Metrics;
use net::server::Peer;
use rustls::pki_types::CertificateDer;
use tower::ServiceExt;

/// Returns the answer to a request from `address`, whose client has presented these certificates.
pub async fn answer(
    site: &Site,
    mut request: http::Request<Body>,
    address: [u8; 4],
    certificates: &[CertificateDer<'static>],
) -> http::Response<Body> {
    let (address, local) = ((address, 40000).into(), ([10, 0, 0, 1], 8080).into());
    request.extensions_mut().insert(Peer { address, local, certificates: certificates.into() });
    let metrics = Metrics::of(&metrics::Metrics::default());
    router(Arc::new(site.clone()), &metrics).oneshot(request).await.unwrap()
}

/// Sends a request over HTTP, and returns status and body.
pub async fn ask(site: &Site, path: &str, address: [u8; 4]) -> (u16, String) {
    let request = http::Request::get(path).body(Body::empty()).unwrap();
    let response = answer(site, request, address, &[]).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}
