//! The server that this test program runs in a probed container. It logs each request, and reports that it is unhealthy after a request to its
//! plain HTTP port.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::program::{HEALTH_PORT, PORT, SECURED_PORT, role};

/// Whether it is ill.
static IS_ILL: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn health() {
    let Some(name) = role() else { return };
    // Probes wait for it, also after a restart.
    std::fs::remove_file("/tmp/started").ok();
    let listen = async |port: u16| TcpListener::bind(("0.0.0.0", port)).await.unwrap();
    let (plain, secured, health) =
        (listen(PORT).await, listen(SECURED_PORT).await, listen(HEALTH_PORT).await);
    let acceptor = acceptor();
    std::fs::write("/tmp/started", &name).unwrap();
    println!("{name} listens");
    loop {
        tokio::select! {
            Ok((stream, _)) = plain.accept() => {
                IS_ILL.store(true, Ordering::Relaxed);
                println!("ill from now on");
                tokio::spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    http.serve_connection(TokioIo::new(stream), service_fn(say)).await.ok();
                });
            }
            Ok((stream, _)) = secured.accept() => {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let http = hyper::server::conn::http1::Builder::new();
                    http.serve_connection(TokioIo::new(stream), service_fn(say)).await.ok();
                });
            }
            Ok((stream, _)) = health.accept() => {
                tokio::spawn(async move {
                    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    http.serve_connection(TokioIo::new(stream), service_fn(check)).await.ok();
                });
            }
        }
    }
}

fn acceptor() -> TlsAcceptor {
    let (now, random) = (Clock::system().now(), Random::system());
    let algorithm = KeyAlgorithm::default();
    let authority = CertificateAuthority::generate("nobody knows me", algorithm, None, now, &random).unwrap();
    let identity =
        authority.issue(&Leaf::server("other", vec!["other.example".to_owned()]), now, &random).unwrap();
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let config =
        server_config(certificates, &ClientCertificates::None, &["http/1.1"], &Clock::system()).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn header<'a>(request: &'a Request<Incoming>, name: &str) -> &'a str {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

async fn say(request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let named = ["user-agent", "accept", "x-test"].map(|name| header(&request, name)).join(" ");
    println!("asked for {} by {named}", request.uri());
    Ok(Response::new(Empty::new()))
}

/// `grpc.health.v1.Health/Check`.
async fn check(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let agent = header(&request, "user-agent").to_owned();
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let service = String::from_utf8_lossy(&body[7.min(body.len())..]).into_owned();
    println!("checked {service} by {agent}");
    let is_known = path == "/grpc.health.v1.Health/Check" && service == "test";
    let status = if IS_ILL.load(Ordering::Relaxed) { 2 } else { 1 };
    let message = Frame::data(Bytes::from(vec![0, 0, 0, 0, 2, 8, status]));
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", if is_known { "0" } else { "5" }.parse().unwrap());
    let frames = [Ok::<_, Infallible>(message), Ok(Frame::trailers(trailers))];
    let body = BodyExt::boxed(StreamBody::new(futures::stream::iter(frames)));
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    Ok(response)
}
