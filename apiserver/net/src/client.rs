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
use rustls::RootCertStore;

use crate::authorities::client_config;
use crate::connector::Connector;
use crate::dial::Scheme;
use crate::error::{Error, Failure};
use crate::proxies::Proxies;

/// A client that reaches other machines through proxies. Redirects are its caller's.
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
    pub async fn request(&self, mut request: Request<B>) -> Result<Response<Incoming>, Failure> {
        let uri = request.uri().clone();
        let scheme = Scheme::of(&uri);
        let host = uri.host().unwrap_or_default();
        if let (Scheme::Https, Some(why)) = (scheme, &self.without_authorities) {
            return Err(Error::Authorities { to: host.to_owned(), why: why.clone() }.into());
        }
        if let Some(authorization) = self.proxies.authorization(&uri) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let answer = self.client.request(request).await?;
        if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let Some(proxy) = self.proxies.find(scheme, host, scheme.port(&uri))?
        {
            return Err(Error::Credentials { proxy: proxy.to_string() }.into());
        }
        Ok(answer)
    }
}
