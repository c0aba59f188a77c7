//! What this test program does as the program of a container: it answers, or it asks. Each Pod runs one of these tests, which do nothing elsewhere.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use machinery::clock::Clock;
use pki::Identity;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The variable that says that this program runs in a container.
pub const ROLE: &str = "TEST_POD_ROLE";
/// The variable with the folder of the webhook's certificate.
pub const CERTIFICATES: &str = "TEST_POD_CERTIFICATES";
/// The port on which every Pod of these tests listens.
pub const PORT: u16 = 9443;
/// The port of the webhook.
pub const WEBHOOK_PORT: u16 = 9444;

/// The port over TLS of the program that is probed, and that of its health over gRPC.
pub const SECURED_PORT: u16 = 9445;
/// See [`SECURED_PORT`].
pub const HEALTH_PORT: u16 = 9446;

/// Returns the port on which the program listens, which may be an argument as a provider's.
fn port() -> u16 {
    let argument = std::env::var("TEST_POD_PORT").unwrap_or_default();
    argument.strip_prefix("--webhook-port=").and_then(|port| port.parse().ok()).unwrap_or(PORT)
}

pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Says its name to everybody, and is a webhook that refuses everything if it has a certificate.
#[tokio::test]
async fn server() {
    let Some(name) = role() else { return };
    let plain = TcpListener::bind(("0.0.0.0", port())).await.unwrap();
    // A program with another port shares the network with others, and needs no webhook.
    let secured = if port() == PORT { WEBHOOK_PORT } else { 0 };
    let secured = TcpListener::bind(("0.0.0.0", secured)).await.unwrap();
    println!("{name} listens");
    let webhook = async {
        let Some(acceptor) = acceptor() else { return std::future::pending().await };
        loop {
            let (stream, _) = secured.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let http = hyper::server::conn::http1::Builder::new();
                http.serve_connection(TokioIo::new(stream), service_fn(review)).await.ok();
            });
        }
    };
    let greeter = async {
        loop {
            let (mut stream, _) = plain.accept().await.unwrap();
            let name = name.clone();
            tokio::spawn(async move {
                let answer = service_fn(async |_| {
                    Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(format!("I am {name}")))))
                });
                let http = hyper::server::conn::http1::Builder::new();
                http.serve_connection(TokioIo::new(&mut stream), answer).await.ok();
            });
        }
    };
    tokio::join!(webhook, greeter);
}

fn acceptor() -> Option<TlsAcceptor> {
    let folder = std::env::var(CERTIFICATES).ok()?;
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).ok();
    let identity = Identity { certificate: read("tls.crt")?, key: read("tls.key")? };
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let config =
        server_config(certificates, &ClientCertificates::None, &["http/1.1"], &Clock::system()).unwrap();
    Some(TlsAcceptor::from(Arc::new(config)))
}

async fn review(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"], "allowed": false,
            "status": {"message": "refused inside of a Pod"},
        },
    });
    let mut response = Response::new(Full::new(answer.to_string().into()));
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    Ok(response)
}

/// Asks the API server who it is, a Service by its name, and what listens outside.
#[tokio::test]
async fn client() {
    let Some(outside) = role() else { return };
    let client = Client::try_from(Config::incluster().unwrap()).unwrap();
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    println!("user {}", user.unwrap());
    let read = move |to: &str| {
        let mut stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer.lines().last().unwrap_or_default().to_owned())
    };
    let port = outside.rsplit(':').next().unwrap().to_owned();
    let work = tokio::task::spawn_blocking(move || {
        println!("service {:?}", read("one.shell-system.svc:443"));
        println!("short name {:?}", read("one:443"));
        println!("outside {:?}", read(&outside));
        println!("loopback {:?}", read(&format!("127.0.0.1:{port}")).map_err(|error| error.kind()));
    });
    work.await.unwrap();
    println!("asked everything");
    std::future::pending().await
}
