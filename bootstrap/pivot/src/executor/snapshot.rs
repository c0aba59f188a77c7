//! What was read of the source, or of a directory in its place.

use crate::error::Result;
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Item};
use crate::kinds::{self, Kind};
use crate::object::Key;
use crate::server::Server;

pub(super) struct Snapshot {
    discovery: Discovery,
    scope: Scope,
    inventory: Inventory,
}

impl Snapshot {
    pub(super) fn new(discovery: Discovery, scope: Scope, inventory: Inventory) -> Self {
        Self { discovery, scope, inventory }
    }

    /// Reads what a pivot of `namespace` moves.
    pub(super) async fn read(source: &Server, namespace: &str) -> Result<Self> {
        let mut discovery = Discovery::read(source).await?;
        kinds::find_handed_over(source, &mut discovery.kinds).await?;
        let scope = discovery.scope(source, namespace).await?;
        let inventory = discovery.inventory(source, &scope).await?;
        Ok(Self { discovery, scope, inventory })
    }

    /// Reads the objects again. The old inventory is freed first, because with many objects two inventories would not fit into memory.
    pub(super) async fn read_again(&mut self, source: &Server) -> Result<()> {
        self.inventory = Inventory::default();
        self.inventory = self.discovery.inventory(source, &self.scope).await?;
        Ok(())
    }

    /// Reads the objects again, and returns whether everything that must arrive is the same as before.
    pub(super) async fn is_same_again(&mut self, source: &Server) -> Result<bool> {
        let before = std::mem::take(&mut self.inventory).into_summary();
        self.read_again(source).await?;
        Ok(self.inventory.is_same(&before))
    }

    pub(super) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    pub(super) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Returns the object if it moves.
    pub(super) fn item(&self, key: &Key) -> Option<&Item> {
        self.inventory.items.get(key)
    }

    pub(super) fn kind(&self, index: usize) -> &Kind {
        &self.discovery.kinds[index]
    }

    pub(super) fn kind_of(&self, key: &Key) -> Option<&Kind> {
        self.discovery.kinds.iter().find(|kind| key.is(&kind.group, &kind.kind))
    }
}
