//! What is known of controllers before they run. Each crate of controllers has a table of [`Provider`]s with a [`Descriptor`] for each
//! controller; the command line, help texts, clusterctl's inventory and the assembly of a process are made from these tables.

use crate::manager::Manager;

/// A kind, in whichever version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKind {
    /// API group, `cluster.x-k8s.io`.
    pub group: &'static str,
    /// Kind, `Machine`.
    pub kind: &'static str,
}

impl GroupKind {
    /// The kind `kind` of `group`.
    pub const fn new(group: &'static str, kind: &'static str) -> Self {
        Self { group, kind }
    }
}

/// A controller: how it is called, what it reconciles, how it starts. `C` is what the controllers of its provider share besides the
/// manager.
#[derive(Debug)]
pub struct Descriptor<C: 'static = ()> {
    /// Its name in logs and metrics. As with controller-runtime it is the kind in lower case.
    pub name: &'static str,
    /// The kinds whose objects it brings to where their spec wants them. A controller that does less than that for a kind does not
    /// list it.
    pub reconciles: &'static [GroupKind],
    /// Starts the controller; it ends with the manager.
    pub start: fn(&Manager, &C),
}

/// Controllers that clusterctl installs, and knows, as one provider.
#[derive(Debug)]
pub struct Provider<C: 'static = ()> {
    /// Its entry in clusterctl's inventory; `None` keeps it out of the inventory.
    pub inventory: Option<InventoryEntry>,
    /// Its controllers, in the order in which they start.
    pub controllers: &'static [Descriptor<C>],
}

/// A provider as clusterctl names it when it installs the upstream one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InventoryEntry {
    /// Name of the `Provider` object and value of the label `cluster.x-k8s.io/provider`.
    pub label: &'static str,
    /// `providerName`.
    pub name: &'static str,
    /// `type`, for example `BootstrapProvider`.
    pub kind: &'static str,
    /// The namespace in which upstream's manager runs, and the entry stands.
    pub namespace: &'static str,
}

impl<C> Provider<C> {
    /// Starts all its controllers; they end with the manager.
    pub fn start(&self, manager: &Manager, context: &C) {
        for controller in self.controllers {
            (controller.start)(manager, context);
        }
    }
}
