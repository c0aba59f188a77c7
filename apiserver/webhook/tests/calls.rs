//! Calls against TLS servers on the loopback interface.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeZone, Utc};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};
use registry::{WebhookCaller, WebhookRequest, WebhookResponse};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use webhook::HttpsCaller;

use crate::webhook::Loopback;

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

fn clock() -> Clock {
    Clock::simulated(now())
}

fn authority() -> CertificateAuthority {
    CertificateAuthority::generate("ca", KeyAlgorithm::EcdsaP256, None, now(), &Random::seeded(1)).unwrap()
}

fn issued(authority: &CertificateAuthority, name: &str) -> Identity {
    authority.issue(&Leaf::server("webhook", vec![name.to_owned()]), now(), &Random::seeded(2)).unwrap()
}

/// Returns the request's body; some paths fail or never answer.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() == "/slow" {
        std::future::pending::<()>().await;
    }
    let code = if request.uri().path() == "/fails" { 500 } else { 200 };
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(Response::builder().status(code).body(Full::new(body)).unwrap())
}

/// Serves with this certificate; returns the port.
async fn serve(identity: &Identity) -> u16 {
    let certificates = Arc::new(ServerCertificates::new(identity).unwrap());
    let config = server_config(certificates, &ClientCertificates::None, &["http/1.1"], &clock()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let server = hyper::server::conn::http1::Builder::new();
                let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    });
    port
}

async fn call(url: String, address: Option<(String, u16)>, ca: &str) -> Result<WebhookResponse, String> {
    let caller = HttpsCaller::over(Arc::new(Loopback), clock());
    let request = WebhookRequest {
        url,
        address,
        ca_bundle: ca.as_bytes().to_vec(),
        timeout: Duration::from_secs(1),
        body: Bytes::from_static(b"{}"),
    };
    caller.post(request).await
}

#[tokio::test]
async fn answers_come_back_with_their_code() {
    let ca = authority();
    let port = serve(&issued(&ca, "127.0.0.1")).await;
    let answer = call(format!("https://127.0.0.1:{port}/x"), None, ca.certificate()).await.unwrap();
    assert_eq!((answer.code, &answer.body[..]), (200, &b"{}"[..]));
    let answer = call(format!("https://127.0.0.1:{port}/fails"), None, ca.certificate()).await.unwrap();
    assert_eq!(answer.code, 500);
}

#[tokio::test]
async fn a_service_is_dialled_elsewhere_and_verified_by_its_name() {
    let ca = authority();
    let port = serve(&issued(&ca, "svc.ns.svc")).await;
    let address = Some(("127.0.0.1".to_owned(), port));
    let answer = call("https://svc.ns.svc:443/".into(), address.clone(), ca.certificate()).await;
    assert_eq!(answer.unwrap().code, 200);
    let error = call("https://other.ns.svc:443/".into(), address, ca.certificate()).await.unwrap_err();
    assert_eq!(
        error,
        "tls: failed to verify certificate: x509: certificate is valid for svc.ns.svc, not other.ns.svc"
    );
}

#[tokio::test]
async fn failures_in_the_words_of_go() {
    let ca = authority();
    let port = serve(&issued(&ca, "127.0.0.1")).await;
    let other = CertificateAuthority::generate("x", KeyAlgorithm::EcdsaP256, None, now(), &Random::seeded(7));
    let error =
        call(format!("https://127.0.0.1:{port}/"), None, other.unwrap().certificate()).await.unwrap_err();
    assert_eq!(error, "tls: failed to verify certificate: x509: certificate signed by unknown authority");
    let error = call(format!("https://127.0.0.1:{port}/slow"), None, ca.certificate()).await.unwrap_err();
    assert_eq!(error, "context deadline exceeded");
    let error = call(format!("https://127.0.0.1:{port}/"), None, "no PEM").await.unwrap_err();
    assert_eq!(error, "unable to load root certificates: unable to parse bytes as PEM block");
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let error = call(format!("https://127.0.0.1:{free}/"), None, ca.certificate()).await.unwrap_err();
    assert_eq!(error, format!("dial tcp 127.0.0.1:{free}: connect: connection refused"));
}

/// Many webhooks use a self-signed certificate as its own authority; Go accepts that, webpki alone does not.
#[tokio::test]
async fn a_certificate_that_is_its_own_authority() {
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    let port = serve(&Identity { certificate: certificate.clone(), key: key.serialize_pem() }).await;
    let answer = call(format!("https://127.0.0.1:{port}/"), None, &certificate).await;
    assert_eq!(answer.unwrap().code, 200);
    let error = call(format!("https://localhost:{port}/"), None, &certificate).await.unwrap_err();
    assert!(error.starts_with("tls: failed to verify certificate: x509: certificate is "), "{error}");
}
