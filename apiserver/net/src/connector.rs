//! Connections for hyper's client.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::addresses::without_brackets;
use crate::connection::Connection;
use crate::dial::{Scheme, dial};
use crate::error::Error;
use crate::network::Dial;
use crate::proxies::Proxies;
use crate::stream::BoxStream;

/// Opens connections through proxies for hyper's client, without TLS to the other end.
#[derive(Debug, Clone)]
pub struct Connector(Arc<Proxies>);

impl Connector {
    /// Connects through these proxies.
    pub fn new(proxies: Arc<Proxies>) -> Self {
        Self(proxies)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let proxies = self.0.clone();
        async move {
            let scheme = Scheme::of(&uri);
            let host = uri.host().unwrap_or_default();
            Ok(TokioIo::new(dial(&proxies, scheme, host, scheme.port(&uri)).await?))
        }
        .boxed()
    }
}

/// Opens connections of a [`Dial`] for hyper's client, without TLS to the other end.
#[derive(Clone)]
pub struct DialConnector(Arc<dyn Dial>);

impl DialConnector {
    /// Connects by `dial`.
    pub fn new(dial: Arc<dyn Dial>) -> Self {
        Self(dial)
    }
}

impl Service<Uri> for DialConnector {
    type Response = TokioIo<BoxStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = self.0.clone();
        async move {
            let host = without_brackets(uri.host().unwrap_or_default());
            Ok(TokioIo::new(dial.dial(host, Scheme::of(&uri).port(&uri)).await?))
        }
        .boxed()
    }
}
