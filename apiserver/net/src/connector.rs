//! Connections for hyper's client.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::dial::{Scheme, dial};
use crate::error::Error;
use crate::proxies::Proxies;
use crate::stream::Stream;

/// Opens connections for hyper's client, without TLS to the other end.
#[derive(Debug, Clone)]
pub struct Connector(Arc<Proxies>);

impl Connector {
    /// Connects through these proxies.
    pub fn new(proxies: Arc<Proxies>) -> Self {
        Self(proxies)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
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
