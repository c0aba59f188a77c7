//! HTTP/1.1 over a single connection at a time.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::SendRequest;
use net::{BoxStream, without_brackets};
use rustls_pki_types::ServerName;
use serde_json::Value;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::network::Network;
use crate::{BmcAddress, Result, Verification, limits, tls};

/// A response before it is interpreted.
pub(crate) struct Raw {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Raw {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name)?.to_str().ok().map(str::to_owned)
    }
}

/// The reason why there is no response.
pub(crate) enum Failure {
    /// The request cannot be built.
    Input(String),
    /// The service did not answer in time.
    TimedOut(Duration),
    /// The controller's certificate is not trusted.
    Certificate(String),
    /// The connection cannot be established, or broke.
    Broken(String),
    /// The response is not HTTP, or too large.
    Answer(String),
}

type Sender = SendRequest<Full<Bytes>>;

/// The connection to a service.
pub(crate) struct Connection {
    network: Arc<dyn Network>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    host: String,
    port: u16,
    authority: String,
    /// The connection of the last response. Only GET requests reuse it: if the service closed it meanwhile, it would be unknown whether
    /// a write was carried out.
    kept: Mutex<Option<Sender>>,
}

impl Connection {
    pub(crate) fn new(
        address: &BmcAddress,
        verification: &Verification,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let tls = if address.tls {
            let name = ServerName::try_from(address.host.clone()).map_err(|_| {
                crate::Error::Input(format!(
                    "{:?} is neither a name nor an address of a controller",
                    address.host
                ))
            })?;
            Some((TlsConnector::from(tls::configuration(verification)?), name))
        } else {
            None
        };
        let (host, port, authority) = (address.host.clone(), address.port, address.authority());
        Ok(Self { network, tls, host, port, authority, kept: Mutex::new(None) })
    }

    /// Returns whether a URI belongs to this service.
    pub(crate) fn is_here(&self, uri: &Uri) -> bool {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        let host = uri.host().map(without_brackets);
        uri.scheme_str() == Some(scheme)
            && port == self.port
            && host.is_some_and(|host| host.eq_ignore_ascii_case(&self.host))
    }

    /// Closes the kept connection.
    pub(crate) fn close(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sends a request, and returns the response.
    pub(crate) async fn exchange(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Raw, Failure> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let exchange = async {
            let request = || self.request(method, path, headers, body);
            if let Some(sender) = kept.filter(|sender| *method == Method::GET && sender.is_ready())
                && let Ok(raw) = self.on(sender, request()?).await
            {
                return Ok(raw);
            }
            let sender = timeout(limits::CONNECT_TIMEOUT, self.dial())
                .await
                .map_err(|_| Failure::TimedOut(limits::CONNECT_TIMEOUT))??;
            self.on(sender, request()?).await
        };
        timeout(limits::REQUEST_TIMEOUT, exchange)
            .await
            .unwrap_or(Err(Failure::TimedOut(limits::REQUEST_TIMEOUT)))
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<http::Request<Full<Bytes>>, Failure> {
        let mut builder = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.authority)
            .header("accept", "application/json")
            .header("odata-version", "4.0")
            .header("user-agent", "firstlight");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        if body.is_some() {
            builder = builder.header("content-type", "application/json");
        }
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        builder.body(Full::new(bytes)).map_err(|_| {
            Failure::Input(
                "the path, the user or the password hold characters that HTTP cannot carry".to_owned(),
            )
        })
    }

    async fn on(&self, mut sender: Sender, request: http::Request<Full<Bytes>>) -> Result<Raw, Failure> {
        let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, limits::BODY_MAX).collect().await.map_err(|error| match error
            .downcast::<hyper::Error>(
        ) {
            Ok(error) => broken(&error),
            Err(_) => Failure::Answer(format!("it has more than {} bytes", limits::BODY_MAX)),
        })?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Ok(Raw { status: parts.status, headers: parts.headers, body: body.to_bytes() })
    }

    async fn dial(&self) -> Result<Sender, Failure> {
        let plain = self.network.dial(&self.host, self.port).await.map_err(|error| refused(&error))?;
        let stream: BoxStream = match &self.tls {
            None => plain,
            Some((connector, name)) => {
                let secured = connector.connect(name.clone(), plain).await;
                Box::new(secured.map_err(|error| refused(&error))?)
            }
        };
        net::http1(stream).await.map_err(|error| broken(&error))
    }
}

/// Returns why a connection could not be established.
fn refused(error: &io::Error) -> Failure {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(reason)) => Failure::Certificate(format!("{reason:?}")),
        Some(reason) => Failure::Broken(format!("TLS: {reason}")),
        None => Failure::Broken(format!("cannot connect: {error}")),
    }
}

/// Returns why a connection broke, or that the peer does not speak HTTP.
fn broken(error: &hyper::Error) -> Failure {
    let mut text = error.to_string();
    if let Some(below) = error.source() {
        text.push_str(&format!(": {below}"));
    }
    if error.is_parse() { Failure::Answer(text) } else { Failure::Broken(text) }
}
