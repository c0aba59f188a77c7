//! Calls webhooks over pooled connections.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use machinery::cache::Cache;
use machinery::clock::Clock;
use net::{Dial, without_brackets};
use registry::{WebhookCaller, WebhookRequest, WebhookResponse};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_rustls::TlsConnector;

use crate::connect::{ConnectError, Connector};
use crate::limits::{ANSWER_BYTES, IDLE, KEPT_CLIENTS};
use crate::words;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, */*");
const AGENT: HeaderValue = HeaderValue::from_static("kube-apiserver-admission");

/// The properties that calls must share to use the same connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Peer {
    authority: String,
    address: (String, u16),
    ca_bundle: Vec<u8>,
}

type HttpClient = Client<Connector, Full<Bytes>>;

/// Calls webhooks over HTTPS.
pub struct HttpsCaller {
    dial: Arc<dyn Dial>,
    clock: Clock,
    clients: Cache<Peer, HttpClient>,
    agent: HeaderValue,
    answer_bytes: usize,
}

impl HttpsCaller {
    /// Creates a caller that connects by `dial`. `clock` is used to check the validity of certificates.
    pub fn over(dial: Arc<dyn Dial>, clock: Clock) -> Self {
        let clients = Cache::new(KEPT_CLIENTS);
        Self { dial, clock, clients, agent: AGENT, answer_bytes: ANSWER_BYTES }
    }

    /// Calls as another program than kube-apiserver.
    #[must_use]
    pub fn with_agent(self, agent: &'static str) -> Self {
        Self { agent: HeaderValue::from_static(agent), ..self }
    }

    /// Accepts answers of at most this many bytes; more than [`ANSWER_BYTES`] are never accepted.
    #[must_use]
    pub fn with_answer_bytes(self, bytes: usize) -> Self {
        Self { answer_bytes: bytes.min(ANSWER_BYTES), ..self }
    }

    fn client(&self, peer: Peer) -> Result<HttpClient, String> {
        if let Some(client) = self.clients.get(&peer) {
            return Ok(client);
        }
        let roots = authorities(&peer.ca_bundle)?;
        let tls = pki::tls::client_config_for_roots(&roots, pki::tls::ALPN_HTTP, &self.clock)
            .map_err(|error| error.to_string())?;
        let connector = Connector {
            dial: self.dial.clone(),
            clock: self.clock.clone(),
            tls: TlsConnector::from(Arc::new(tls)),
            address: peer.address.clone(),
        };
        let client: HttpClient = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        self.clients.keep(peer, client.clone());
        Ok(client)
    }

    async fn call(&self, call: WebhookRequest) -> Result<WebhookResponse, String> {
        let uri: Uri = call.url.parse().map_err(|_| format!("{:?} is no URL", call.url))?;
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let host = without_brackets(uri.host().unwrap_or_default()).to_owned();
        let address = call.address.unwrap_or((host, uri.port_u16().unwrap_or(443)));
        let client = self.client(Peer { authority, address, ca_bundle: call.ca_bundle })?;
        let mut request = Request::post(uri).body(Full::new(call.body)).map_err(|error| error.to_string())?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(USER_AGENT, self.agent.clone());
        let response = client.request(request).await.map_err(|error| broken(&error))?;
        let code = response.status().as_u16();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let body = Limited::new(response.into_body(), self.answer_bytes).collect().await;
        let body = body.map_err(|error| format!("reading the answer: {error}"))?.to_bytes();
        Ok(WebhookResponse { code, content_type, body })
    }
}

impl WebhookCaller for HttpsCaller {
    fn post(&self, request: WebhookRequest) -> BoxFuture<'_, Result<WebhookResponse, String>> {
        let limit = request.timeout;
        async move {
            match tokio::time::timeout(limit, self.call(request)).await {
                Ok(answer) => answer,
                Err(_) => Err(registry::webhook::DEADLINE.to_owned()),
            }
        }
        .boxed()
    }
}

/// Returns the authorities to trust: the webhook's bundle, or without one those of the machine.
fn authorities(bundle: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    if bundle.is_empty() {
        return Ok(rustls_native_certs::load_native_certs().certs);
    }
    let found: Vec<_> = CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok).collect();
    if found.is_empty() {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
    }
    Ok(found)
}

/// Returns the message of the deepest known cause.
fn broken(error: &(dyn Error + 'static)) -> String {
    let mut cause = Some(error);
    let mut last = error.to_string();
    while let Some(found) = cause {
        if let Some(connect) = found.downcast_ref::<ConnectError>() {
            return connect.0.clone();
        }
        if let Some(io) = found.downcast_ref::<io::Error>() {
            return words::io(io);
        }
        if found.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return "EOF".to_owned();
        }
        last = found.to_string();
        cause = found.source();
    }
    last
}
