//! The HTTPS client of webhooks as the client of runtime extensions, and these as the controllers of topologies see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_topology::extensions::{Answer, Extensions, Hook};
use engine::{Error, Manager};
use futures::FutureExt;
use futures::future::BoxFuture;
use registry::{WebhookCaller, WebhookRequest};
use runtime_extensions::limits::ANSWER_BYTES;
use runtime_extensions::{Call, Caller, Client, Reply};
use schemas::cluster::Cluster;
use serde_json::Value;
use webhook::HttpsCaller;

/// Extensions see who calls them.
const AGENT: &str = concat!("firstlight/", env!("CARGO_PKG_VERSION"));

struct Https(HttpsCaller);

impl Caller for Https {
    fn post(&self, call: Call) -> BoxFuture<'_, Result<Reply, String>> {
        let Call { url, authority, timeout, body } = call;
        // The network of the manager knows Services by their names.
        let request = WebhookRequest { url, address: None, ca_bundle: authority, timeout, body };
        async move {
            let response = self.0.post(request).await?;
            Ok(Reply { code: response.code, body: response.body })
        }
        .boxed()
    }
}

/// Returns the client of the runtime extensions of a management cluster. It dials through the network of the manager, also the Services of Pods that run as
/// processes.
pub(crate) fn runtime_extensions_client(manager: &Manager) -> Client {
    let caller = HttpsCaller::over(manager.network().clone(), manager.clock().clone());
    Client::new(manager, Arc::new(Https(caller.with_agent(AGENT).with_answer_bytes(ANSWER_BYTES))))
}

/// The runtime extensions of a management cluster, for the controllers of topologies.
pub(crate) struct TopologyExtensions(pub(crate) Client);

/// Returns a hook of topologies as the client of extensions knows it. Both have the names of Cluster API.
fn hook(hook: Hook) -> engine::Result<runtime_extensions::Hook> {
    let name = hook.name();
    runtime_extensions::Hook::named(name).ok_or_else(|| Error::failed(format!("there is no hook {name}")))
}

impl Extensions for TopologyExtensions {
    fn has_handler<'a>(&'a self, of: Hook, namespace: &'a str) -> BoxFuture<'a, engine::Result<bool>> {
        async move { Ok(!self.0.handlers(hook(of)?, namespace).await?.is_empty()) }.boxed()
    }

    fn call_all<'a>(
        &'a self,
        of: Hook,
        cluster: &'a Cluster,
        request: Value,
    ) -> BoxFuture<'a, engine::Result<Answer>> {
        async move {
            let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
            let answer = self.0.call_all(hook(of)?, namespace, &request).await?;
            Ok(Answer { message: answer.message, retry_after: answer.retry_after })
        }
        .boxed()
    }

    fn call<'a>(
        &'a self,
        of: Hook,
        name: &'a str,
        namespace: &'a str,
        settings: &'a BTreeMap<String, String>,
        request: Value,
    ) -> BoxFuture<'a, engine::Result<Value>> {
        async move { Ok(self.0.call(hook(of)?, name, namespace, settings, &request).await?) }.boxed()
    }
}
