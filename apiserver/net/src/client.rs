//! A client for HTTP/1.1 with and without TLS.

use std::error::Error as StdError;
use std::sync::Arc;

use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use machinery::clock::Clock;
use rustls::RootCertStore;
use tracing::Instrument as _;

use crate::authorities::client_config;
use crate::connector::Connector;
use crate::dial::Scheme;
use crate::error::{Error, Failure};
use crate::proxies::Proxies;
use crate::proxy::Proxy;

/// A client that reaches other machines through proxies. Redirects are its caller's. Each request has a span within that of its caller.
#[derive(Debug, Clone)]
pub struct Client<B> {
    client: legacy::Client<HttpsConnector<Connector>, B>,
    proxies: Arc<Proxies>,
    /// Why no certificate can be trusted.
    without_authorities: Option<String>,
}

impl<B> Client<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Returns a client that trusts these authorities. If there are none, `why` says so when they are needed.
    ///
    /// # Errors
    /// Never, with the cryptography that is built in.
    pub fn new(
        (authorities, why): (RootCertStore, String),
        proxies: Arc<Proxies>,
    ) -> Result<Self, rustls::Error> {
        let without_authorities = authorities.is_empty().then_some(why);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(client_config(authorities)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector::new(proxies.clone()));
        let client = legacy::Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, proxies, without_authorities })
    }

    /// Sends a request, and returns the head of the answer. [`crate::refusal`] finds in an error why there is no connection.
    ///
    /// # Errors
    /// There is no connection, or it breaks.
    pub async fn request(&self, request: Request<B>) -> Result<Response<Incoming>, Failure> {
        let (method, uri) = (request.method(), request.uri());
        // Without the query, which may have a signature.
        let (host, path) = (uri.host().unwrap_or_default(), uri.path());
        let span = tracing::debug_span!("outgoing request", %method, host, path);
        async {
            let begun = Clock::system().monotonic();
            let outcome = self.send(request).await;
            let elapsed = begun.elapsed();
            match &outcome {
                Ok(answer) => tracing::debug!(code = answer.status().as_u16(), ?elapsed, "answered"),
                Err(_) => tracing::debug!(?elapsed, "not answered"),
            }
            outcome
        }
        .instrument(span)
        .await
    }

    async fn send(&self, mut request: Request<B>) -> Result<Response<Incoming>, Failure> {
        let uri = request.uri().clone();
        if let (Scheme::Https, Some(why)) = (Scheme::of(&uri), &self.without_authorities) {
            let to = uri.host().unwrap_or_default().to_owned();
            return Err(Error::Authorities { to, why: why.clone() }.into());
        }
        let proxy = self.proxies.reader(&uri);
        if let Some(authorization) = proxy.and_then(Proxy::authorization) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let answer = self.client.request(request).await?;
        match proxy {
            Some(proxy) if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Err(Error::Credentials { proxy: proxy.to_string() }.into())
            }
            _ => Ok(answer),
        }
    }
}
