//! The HTTPS client of webhooks as the client of extensions, as the assembly of the program has it.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use net::Network;
use registry::{WebhookCaller, WebhookRequest};
use runtime_extensions::limits::ANSWER_BYTES;
use runtime_extensions::{Call, Caller, Reply};
use webhook::HttpsCaller;

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
    Arc::new(Https(HttpsCaller::over(network, clock).with_answer_bytes(ANSWER_BYTES)))
}
