//! A management plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use engine::Manager;
use engine::network::{Network, SimulatedNetwork};
use firstlight::controllers::{self, Context, Selection};
use firstlight::plane::{Doors, Plane};
use machinery::clock::Clock;
use machinery::random::Random;
use serde_json::Value;
use store::{Memory, Page, Prefix, Store};

/// A plane and its store.
#[derive(Clone)]
pub struct Place {
    /// `source` or `target`.
    pub role: &'static str,
    /// Answers requests.
    pub plane: Plane,
    /// Holds the objects.
    pub store: Store,
}

impl Place {
    /// Starts all controllers.
    pub fn manage(&self) -> Manager {
        let manager = self.plane.manager();
        controllers::start(&Context::new(&manager), &Selection::all());
        manager
    }

    /// Starts it on what `disk` holds, without controllers.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn start(role: &'static str, disk: Memory, clock: &Clock, seed: u64) -> Result<Self> {
        Self::start_in(Arc::new(SimulatedNetwork::new()), role, disk, clock, seed).await
    }

    /// As [`Place::start`], beside others on one machine.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn start_in(
        network: Arc<dyn Network>,
        role: &'static str,
        disk: Memory,
        clock: &Clock,
        seed: u64,
    ) -> Result<Self> {
        let doors = Doors { clock: clock.clone(), random: Random::seeded(seed), network };
        let store = Store::open(disk, clock.clone()).await?;
        let keys = pki::TokenKeys::generate(&doors.random)?;
        let plane = Plane::start(store.clone(), &doors, None, keys).await?;
        Ok(Self { role, plane, store })
    }

    /// All objects by their key in the store.
    pub fn objects(&self) -> BTreeMap<String, Value> {
        let snapshot = self.store.list(&Prefix::all(), &Page::default());
        let parse = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_default();
        snapshot.items.iter().map(|stored| (stored.key.as_str().to_owned(), parse(&stored.value))).collect()
    }

    /// One object.
    pub fn object(&self, key: &str) -> Option<Value> {
        self.objects().remove(key)
    }
}
