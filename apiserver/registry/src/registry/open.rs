//! Opening of a registry: puts its parts together, and starts the housekeeping.

use std::net::SocketAddr;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use store::Store;

use super::Registry;
use crate::admission::chain::AdmissionChain;
use crate::admission::plugins::Plugins;
use crate::housekeeping::{advertised, authentication, start};
use crate::options::Options;
use crate::storage::entries::Storage;
use crate::versions::current::Versions;
use crate::versions::kinds::{Kinds, OpenError};
use crate::write::allocation::Allocator;
use crate::write::writes::Writes;

impl Registry {
    /// Opens a registry on `store` and starts its housekeeping. The housekeeping ends with the last clone of the
    /// registry, or with the runtime.
    ///
    /// # Errors
    /// If a built-in kind, for example of `options.kinds`, cannot be served.
    pub async fn open(
        store: Store,
        clock: Clock,
        random: Random,
        options: Options,
    ) -> Result<Self, OpenError> {
        let Options { kinds, housekeeping, converter, admission, webhooks, service_accounts, service_range } =
            options;
        let kinds = kinds.map_or_else(Kinds::of_every_server, Ok)?;
        let storage = Arc::new(Storage::new(store));
        let versions = Arc::new(Versions::open(storage.clone(), &kinds, converter, webhooks, random.clone()));
        let plugins = Plugins::new(service_accounts, clock.clone(), random.clone());
        let admission = AdmissionChain::new(plugins, admission, storage.clone(), versions.clone());
        let allocator = Allocator::new(service_range, random.clone());
        let needs_namespaces = housekeeping.namespaces;
        let writes =
            Arc::new(Writes::new(storage, versions, admission, allocator, clock, random, needs_namespaces));
        start::start(&writes, housekeeping).await;
        Ok(Self(writes))
    }

    /// Creates the Service `kubernetes` and lets it lead to `address`. Like on a real API server, its Endpoints never
    /// contain a loopback address, which on another machine means that machine. If the server has only such an address,
    /// there are no Endpoints.
    pub fn advertise(&self, address: SocketAddr) {
        advertised::start(&self.0, address);
    }

    /// Publishes the authority of client certificates (PEM) in the ConfigMap `extension-apiserver-authentication` in `kube-system`.
    pub fn publish_client_authority(&self, authority: &str) {
        authentication::start(&self.0, authority.to_owned());
    }
}
