//! Webhooks and runtime extensions are dialled through the same network as workload clusters.

use std::io;
use std::sync::Arc;

use engine::network::Network;
use futures::FutureExt;
use futures::future::BoxFuture;
use webhook::Dialer;

/// Dials through a network, for the HTTPS client of webhooks.
pub(crate) struct Outside(pub(crate) Arc<dyn Network>);

impl Dialer for Outside {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn webhook::Stream>>> {
        async move { Ok(Box::new(self.0.dial(host, port).await?) as Box<dyn webhook::Stream>) }.boxed()
    }
}
