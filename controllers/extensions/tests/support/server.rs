//! An extension: an HTTPS server with a certificate of its own authority, whose answers a test sets.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::LOCATION;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use machinery::random::Random;
use net::{BoxStream, Listener, Network};
use parking_lot::Mutex;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use runtime_extensions::Hook;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::VERSION;

/// What the extension does when it is asked.
#[derive(Clone)]
pub enum Behaviour {
    /// It answers 200 with this JSON.
    Says(Value),
    /// It answers with a status code and a body.
    Answers(u16, Bytes),
    /// It sends the client to another URL.
    Redirects(String),
    /// It never answers.
    IsSilent,
    /// It answers one byte each tenth of a second, without an end.
    Drips,
    /// It closes the connection.
    Closes,
}

/// A request that the extension received.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub query: String,
    pub body: Value,
}

#[derive(Default)]
struct State {
    behaviours: BTreeMap<String, Behaviour>,
    received: Vec<Received>,
}

/// A running extension. It ends with the test, or with [`Extension::stop`].
pub struct Extension {
    pub port: u16,
    pub authority: CertificateAuthority,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

/// The host for which the certificate is valid, besides 127.0.0.1.
pub const HOST: &str = "extension.default.svc";

impl Extension {
    /// Starts an extension on this network.
    pub async fn start(network: &Arc<dyn Network>, clock: &Clock, port: u16) -> Self {
        let (now, random) = (clock.now(), Random::seeded(9));
        let authority =
            CertificateAuthority::generate("ca", KeyAlgorithm::EcdsaP256, None, now, &random).unwrap();
        let names = vec![HOST.to_owned(), "127.0.0.1".to_owned()];
        let identity = authority.issue(&Leaf::server("extension", names), now, &random).unwrap();
        let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
        let config = server_config(certificates, &ClientCertificates::None, &["http/1.1"], clock).unwrap();
        let listener = network.listen("127.0.0.1", port).await.unwrap();
        let (port, state) = (listener.port(), Arc::<Mutex<State>>::default());
        let task = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), state.clone()));
        Self { port, authority, state, task }
    }

    /// Closes the port and all connections.
    pub async fn stop(self) {
        self.task.abort();
        drop(self.task.await);
    }

    /// Sets what happens at a path below the version, such as `discovery` or `beforeclustercreate/create`.
    pub fn on(&self, path: &str, behaviour: Behaviour) {
        self.state.lock().behaviours.insert(path.to_owned(), behaviour);
    }

    /// Sets what a hook answers, in addition to its kind and success.
    pub fn answers(&self, hook: Hook, name: &str, fields: Value) {
        let path = format!("{}/{name}", hook.name().to_lowercase());
        self.on(&path, Behaviour::Says(success(hook, fields)));
    }

    /// Sets the handlers that discovery answers.
    pub fn offers(&self, handlers: &[Value]) {
        self.on("discovery", Behaviour::Says(success(Hook::Discovery, json!({"handlers": handlers}))));
    }

    /// Returns the requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.state.lock().received.clone()
    }

    /// Returns the authority as `caBundle`.
    pub fn bundle(&self) -> String {
        STANDARD.encode(self.authority.certificate())
    }

    /// Returns the spec of an ExtensionConfig for this extension.
    pub fn spec(&self) -> Value {
        let url = format!("https://127.0.0.1:{}", self.port);
        json!({"clientConfig": {"url": url, "caBundle": self.bundle()}})
    }
}

/// Returns a successful answer.
pub fn success(hook: Hook, fields: Value) -> Value {
    let mut answer = fields;
    answer["apiVersion"] = VERSION.into();
    answer["kind"] = format!("{}Response", hook.name()).into();
    if answer.get("status").is_none() {
        answer["status"] = "Success".into();
    }
    answer
}

async fn accept(mut listener: Box<dyn Listener>, acceptor: TlsAcceptor, state: Arc<Mutex<State>>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, acceptor.clone(), state.clone()));
    }
}

async fn serve(stream: BoxStream, acceptor: TlsAcceptor, state: Arc<Mutex<State>>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request| answer(state.clone(), request));
    drop(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body that has one byte more each tenth of a second.
fn dripping() -> Body {
    let bytes = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok(Frame::data(Bytes::from_static(b" "))), ()))
    });
    BodyExt::boxed_unsync(StreamBody::new(bytes))
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (path, query) =
        (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let below =
        path.split_once(&format!("{VERSION}/")).map(|(_, below)| below.to_owned()).unwrap_or_default();
    let behaviour = {
        let mut state = state.lock();
        state.received.push(Received { path, query, body: serde_json::from_slice(&body).unwrap() });
        state.behaviours.get(&below).cloned()
    };
    let response = |code: u16, body: Bytes| {
        Ok(Response::builder().status(code).body(Full::new(body).boxed_unsync()).unwrap())
    };
    match behaviour {
        None => response(404, Bytes::from_static(b"no such handler")),
        Some(Behaviour::Says(value)) => response(200, value.to_string().into()),
        Some(Behaviour::Answers(code, body)) => response(code, body),
        Some(Behaviour::Redirects(url)) => {
            let redirect = Response::builder().status(302).header(LOCATION, url);
            Ok(redirect.body(Full::default().boxed_unsync()).unwrap())
        }
        Some(Behaviour::Drips) => Ok(Response::new(dripping())),
        Some(Behaviour::IsSilent) => Ok(std::future::pending::<Result<_, Infallible>>().await.unwrap()),
        Some(Behaviour::Closes) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
