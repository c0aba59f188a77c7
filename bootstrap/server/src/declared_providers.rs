//! What the controllers of declared providers need: clusterctl's configuration, and the network to repositories.

use std::sync::{Arc, OnceLock};

use clusterctl::configuration::Environment;
use clusterctl::network::{Answer, Https, Network, Request};
use futures::FutureExt;
use futures::future::BoxFuture;
use net::Proxies;

use crate::options::ServerOptions;

/// Returns the context of the controllers.
pub(crate) fn context(options: &ServerOptions) -> operator::Context {
    operator::Context {
        configuration: options.clusterctl.clone(),
        environment: Environment::process(),
        network: Arc::new(WhenNeeded::default()),
        in_process: options.controllers.providers(),
    }
}

/// The network of this machine. Its certificate authorities are read with the first request, because most servers never send one.
#[derive(Default)]
struct WhenNeeded(OnceLock<Https>);

impl Network for WhenNeeded {
    fn get(&self, request: Request) -> BoxFuture<'_, clusterctl::Result<Answer>> {
        async move {
            let network = match self.0.get() {
                Some(network) => network,
                None => {
                    let new = Https::new(Proxies::of_process())?;
                    self.0.get_or_init(|| new)
                }
            };
            network.get(request).await
        }
        .boxed()
    }
}
