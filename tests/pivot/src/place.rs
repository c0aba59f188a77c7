//! A management cluster in a test.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use engine::Manager;
use machinery::clock::Clock;
use machinery::random::Random;
use net::{Network, SimulatedNetwork};
use serde_json::Value;
use server::controllers::{self, Context, Selection};
use server::plane::{Dependencies, Plane};
use store::{Memory, Page, Prefix, Store};

/// A server with controllers, and its store.
#[derive(Clone)]
pub struct Place {
    /// `source` or `target`.
    pub role: &'static str,
    /// The server.
    pub plane: Plane,
    /// The store of its objects.
    pub store: Store,
}

impl Place {
    /// Starts all controllers of the server.
    pub fn manage(&self) -> Manager {
        let manager = self.plane.manager();
        controllers::start(&Context::new(&manager), &Selection::all());
        manager
    }

    /// Starts a server with the content of `disk`, without controllers.
    ///
    /// # Errors
    /// The server does not start.
    pub async fn start(role: &'static str, disk: Memory, clock: &Clock, seed: u64) -> Result<Self> {
        Self::start_in(Arc::new(SimulatedNetwork::new()), role, disk, clock, seed).await
    }

    /// Like [`Place::start`], with a network that other servers share.
    ///
    /// # Errors
    /// The server does not start.
    pub async fn start_in(
        network: Arc<dyn Network>,
        role: &'static str,
        disk: Memory,
        clock: &Clock,
        seed: u64,
    ) -> Result<Self> {
        let dependencies = Dependencies { clock: clock.clone(), random: Random::seeded(seed), network };
        let store = Store::open(disk, clock.clone()).await?;
        let keys = pki::TokenKeys::generate(&dependencies.random)?;
        let plane = Plane::start(store.clone(), &dependencies, None, keys).await?;
        Ok(Self { role, plane, store })
    }

    /// All objects by their keys in the store.
    pub fn objects(&self) -> BTreeMap<String, Value> {
        let snapshot = self.store.list(&Prefix::all(), &Page::default());
        let parse = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_default();
        snapshot.items.iter().map(|stored| (stored.key.as_str().to_owned(), parse(&stored.value))).collect()
    }

    /// The object with this key.
    pub fn object(&self, key: &str) -> Option<Value> {
        self.objects().remove(key)
    }
}
