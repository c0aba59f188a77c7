//! Static descriptions of controllers. Each crate of controllers has a table of [`Provider`]s with a [`Descriptor`] for each controller.
//! The command line, help texts, clusterctl's inventory and the assembly of a process use these tables.

use crate::manager::Manager;

/// A kind of an API group, in any version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKind {
    /// API group, for example `cluster.x-k8s.io`.
    pub group: &'static str,
    /// Kind, for example `Machine`.
    pub kind: &'static str,
}

impl GroupKind {
    /// Creates the identifier of `kind` in `group`.
    pub const fn new(group: &'static str, kind: &'static str) -> Self {
        Self { group, kind }
    }
}

/// A controller: its name, the kinds that it reconciles, and the function that starts it. The controllers of a provider share a value of
/// type `C` besides the manager.
#[derive(Debug)]
pub struct Descriptor<C: 'static = ()> {
    /// Name of the controller in logs and metrics. As in controller-runtime, it is the kind in lower case.
    pub name: &'static str,
    /// The kinds that the controller reconciles completely, so that the objects match their spec. A controller that does less for a kind
    /// does not list it.
    pub reconciles: &'static [GroupKind],
    /// Starts the controller. It runs until the manager ends.
    pub start: fn(&Manager, &C),
}

/// Controllers that clusterctl installs as one provider.
#[derive(Debug)]
pub struct Provider<C: 'static = ()> {
    /// Entry of the provider in clusterctl's inventory. `None` keeps the provider out of the inventory.
    pub inventory: Option<InventoryEntry>,
    /// The controllers of the provider, in the order in which they start.
    pub controllers: &'static [Descriptor<C>],
}

/// The `Provider` object that clusterctl creates when it installs the upstream provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InventoryEntry {
    /// Name of the `Provider` object and value of the label `cluster.x-k8s.io/provider`.
    pub label: &'static str,
    /// Value of `providerName`.
    pub name: &'static str,
    /// Value of `type`, for example `BootstrapProvider`.
    pub kind: &'static str,
    /// The namespace of upstream's manager and of the `Provider` object.
    pub namespace: &'static str,
}

impl<C> Provider<C> {
    /// Starts all controllers of the provider. They run until the manager ends.
    pub fn start(&self, manager: &Manager, context: &C) {
        for controller in self.controllers {
            (controller.start)(manager, context);
        }
    }
}
