//! The table of all controllers. A controller is a line in its crate's `PROVIDERS`, a family of them a line here.

use std::sync::Arc;

use engine::{GroupKind, InventoryEntry, Manager, Provider};
use metal::preprovisioning::BootImages;

/// The address of the simulated infrastructure's workload clusters.
const SIMULATED_HOST: &str = "127.0.0.1";

/// What controllers are started with.
#[derive(Clone)]
pub struct Context {
    /// What all controllers of the process share.
    pub manager: Manager,
    /// Network interfaces through which Wake-on-LAN's packets are sent.
    pub interfaces: Vec<String>,
    /// What bare metal is served to boot. Without it PreprovisioningImages are left to another program.
    pub boot_images: Option<BootImages>,
}

impl Context {
    /// The context of controllers that work on another process's API server, where no machine is started over the network.
    pub fn new(manager: &Manager) -> Self {
        Self { manager: manager.clone(), interfaces: Vec::new(), boot_images: None }
    }
}

/// Controllers that `--controllers` chooses together.
pub(super) struct Family {
    /// What `--controllers` calls it.
    pub name: &'static str,
    /// The kinds that its controllers reconcile.
    pub kinds: Vec<GroupKind>,
    /// The providers that clusterctl's inventory names.
    pub inventory: Vec<InventoryEntry>,
    /// Starts its controllers; they end with the manager.
    pub start: Box<dyn Fn(&Context)>,
}

/// Every family, in the order in which they start.
pub(super) fn families() -> Vec<Family> {
    vec![
        Family::new("core", cluster_core::PROVIDERS, |_| ()),
        Family::new("kubeadm", kubeadm::PROVIDERS, |_| ()),
        Family::new("simulated", simulated::PROVIDERS, |context| {
            simulated::Backend::new(&context.manager, SIMULATED_HOST)
        }),
        Family::new("metal", metal::PROVIDERS, |context| metal::Context {
            control: Arc::new(metal::bmcs::Bmcs::new(bmc::Doors::system(), context.interfaces.clone())),
            boot_images: context.boot_images.clone(),
        }),
    ]
}

impl Family {
    /// The family of `providers`, whose controllers share what `shared` makes.
    fn new<C>(name: &'static str, providers: &'static [Provider<C>], shared: fn(&Context) -> C) -> Self {
        let controllers = || providers.iter().flat_map(|provider| provider.controllers);
        Self {
            name,
            kinds: controllers().flat_map(|controller| controller.reconciles).copied().collect(),
            inventory: providers.iter().filter_map(|provider| provider.inventory).collect(),
            start: Box::new(move |context| {
                let shared = shared(context);
                providers.iter().for_each(|provider| provider.start(&context.manager, &shared));
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_controllers_have_one_name_or_one_kind() {
        fn of<C>(providers: &'static [Provider<C>]) -> impl Iterator<Item = &'static str> {
            providers.iter().flat_map(|provider| provider.controllers).map(|controller| controller.name)
        }
        let mut names: Vec<&str> = of(cluster_core::PROVIDERS).chain(of(kubeadm::PROVIDERS)).collect();
        names.extend(of(simulated::PROVIDERS).chain(of(metal::PROVIDERS)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let mut kinds: Vec<GroupKind> = families().into_iter().flat_map(|family| family.kinds).collect();
        let count = kinds.len();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds.len(), count);
    }
}
