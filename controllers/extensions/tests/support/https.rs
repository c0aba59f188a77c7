//! The HTTPS client of webhooks as the client of extensions, as the assembly of the program has it.

use std::io;
use std::sync::Arc;

use engine::network::Network;
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use registry::{WebhookCaller, WebhookRequest};
use runtime_extensions::limits::ANSWER_BYTES;
use runtime_extensions::{Call, Caller, Reply};
use webhook::{Dialer, HttpsCaller};

struct NetworkDialer(Arc<dyn Network>);

impl Dialer for NetworkDialer {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn webhook::Stream>>> {
        async move { Ok(Box::new(self.0.dial(host, port).await?) as Box<dyn webhook::Stream>) }.boxed()
    }
}

struct Https(HttpsCaller);

impl Caller for Https {
    fn post(&self, call: Call) -> BoxFuture<'_, Result<Reply, String>> {
        let Call { url, authority, timeout, body } = call;
        let request = WebhookRequest { url, address: None, ca_bundle: authority, timeout, body };
        async move {
            let response = self.0.post(request).await?;
            Ok(Reply { code: response.code, body: response.body })
        }
        .boxed()
    }
}

/// Returns a client over this network.
pub fn caller(network: Arc<dyn Network>, clock: Clock) -> Arc<dyn Caller> {
    Arc::new(Https(HttpsCaller::over(NetworkDialer(network), clock).with_answer_bytes(ANSWER_BYTES)))
}
