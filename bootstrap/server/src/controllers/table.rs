//! The table of the families of controllers. Each crate of controllers lists its controllers in `PROVIDERS`; one or several crates are a
//! family here.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use clusterctl::built_in::BuiltIn;
use clusterctl::configuration::ProviderType;
use clusterctl::inventory::Installed;
use engine::in_place::SharedUpdater;
use engine::{GroupKind, InventoryEntry, Manager, Provider};
use kubelet::Kubelet;
use metal::preprovisioning::BootImages;

use super::kinds::list;
use crate::in_place_updater::InPlaceUpdater;
use crate::runtime_extensions_client::{TopologyExtensions, runtime_extensions_client};

/// The address on which the simulated infrastructure serves its workload clusters.
const SIMULATED_HOST: &str = "127.0.0.1";

/// The release of Cluster API that the controllers implement.
pub const VERSION: &str = "v1.14.0";

/// The family that has kinds of the simulated infrastructure with another backend.
const NODES: &str = "containers";

/// The release of Metal3's providers that the controllers implement.
const METAL3: &str = "v1.13.2";

/// The dependencies with which controllers start.
#[derive(Clone)]
pub struct Context {
    /// The manager, which all controllers of the process share.
    pub manager: Manager,
    /// The client of the runtime extensions of the cluster.
    pub extensions: runtime_extensions::Client,
    /// The simulated machines of this process, once their controllers run.
    pub simulated: Arc<OnceLock<simulated::Backend>>,
    /// Network interfaces through which Wake-on-LAN packets are sent.
    pub interfaces: Vec<String>,
    /// The addresses of this machine at which BMCs may be.
    pub bmcs_here: Vec<SocketAddr>,
    /// The images that bare-metal machines boot. If `None`, another program reconciles PreprovisioningImages.
    pub boot_images: Option<BootImages>,
    /// What installs providers that are declared as objects. If `None`, the cluster's own operator does.
    pub operator: Option<operator::Context>,
    /// The nodes in containers on this machine. If `None`, another program reconciles what has the Docker backend.
    pub nodes: Option<container_machines::Nodes>,
    /// Runs the Pods of providers as processes of this machine. If `None`, the cluster has kubelets of its own.
    pub kubelet: Option<Kubelet>,
}

impl Context {
    /// Creates the context of controllers that connect to the API server of another process. They boot no machine over the network, and run
    /// no Pods.
    pub fn new(manager: &Manager) -> Self {
        Self {
            manager: manager.clone(),
            extensions: runtime_extensions_client(manager),
            simulated: Arc::default(),
            interfaces: Vec::new(),
            bmcs_here: Vec::new(),
            boot_images: None,
            operator: None,
            nodes: None,
            kubelet: None,
        }
    }

    /// Returns the machines behind the BMCs of hosts.
    fn bmcs(&self) -> Arc<metal::bmcs::Bmcs> {
        let dependencies = bmc::Dependencies::system(self.bmcs_here.clone());
        metal::bmcs::Bmcs::start(&self.manager, dependencies, self.interfaces.clone())
    }

    fn backend(&self) -> simulated::Backend {
        let create = || match self.nodes {
            Some(_) => simulated::Backend::beside_containers(&self.manager, SIMULATED_HOST),
            None => simulated::Backend::new(&self.manager, SIMULATED_HOST),
        };
        self.simulated.get_or_init(create).clone()
    }

    /// Returns what updates machines in place.
    fn updater(&self) -> SharedUpdater {
        let clock = self.manager.clock().clone();
        Arc::new(InPlaceUpdater::new(self.extensions.clone(), self.simulated.clone(), clock))
    }
}

/// Starts the controllers of a crate.
type Start = Box<dyn Fn(&Context)>;

/// A family of controllers, which `--controllers` selects by one name.
pub struct Family {
    /// Name of the family in `--controllers`.
    pub name: &'static str,
    /// The kinds that its controllers reconcile.
    pub kinds: Vec<GroupKind>,
    /// The providers whose controllers are in the family.
    pub providers: Vec<BuiltIn>,
    /// Each function starts the controllers of a crate. They run until the manager ends.
    starts: Vec<Start>,
}

/// Returns all families, in the order in which they start.
pub fn families() -> Vec<Family> {
    vec![
        Family::new("core", cluster_core::PROVIDERS, Context::updater)
            .with(cluster_topology::PROVIDERS, |context| cluster_topology::Context {
                extensions: Arc::new(TopologyExtensions(context.extensions.clone())),
            })
            .with(runtime_extensions::PROVIDERS, |context| context.extensions.clone()),
        Family::new("kubeadm-bootstrap", kubeadm::BOOTSTRAP, |_| ()),
        Family::new("kubeadm-control-plane", kubeadm::CONTROL_PLANE, Context::updater),
        Family::new("addons", addons::PROVIDERS, |_| ()),
        Family::new("ipam", cluster_ipam::PROVIDERS, |_| ()).unless_installed(
            ProviderType::Ipam,
            "in-cluster",
            "v1.0.0",
            "caip-in-cluster-system",
        ),
        Family::new("simulated", simulated::PROVIDERS, Context::backend).of_docker("inMemory"),
        Family::of_nodes(),
        Family::new("metal", metal::PROVIDERS, |context| metal::Context {
            control: context.bmcs(),
            boot_images: context.boot_images.clone(),
        })
        .with(metal_machines::PROVIDERS, |_| ())
        .with(metal_machines::data::PROVIDERS, |_| ())
        .with(metal_machines::ipam::PROVIDERS, |_| ())
        .on_demand(ProviderType::Infrastructure, "metal3", METAL3, "capm3-system")
        .on_demand(ProviderType::Ipam, "metal3", METAL3, "capm3-system"),
        Family::of_pods(),
        Family::of_operator(),
    ]
}

impl Family {
    /// Creates the family with the controllers of `providers`. `shared` creates the value that they share besides the manager.
    fn new<C>(name: &'static str, providers: &'static [Provider<C>], shared: fn(&Context) -> C) -> Self {
        let family = Self { name, kinds: Vec::new(), providers: Vec::new(), starts: Vec::new() };
        family.with(providers, shared)
    }

    /// Adds a provider that the inventory gets when somebody chooses it.
    fn on_demand(mut self, kind: ProviderType, name: &str, version: &str, namespace: &str) -> Self {
        let provider = Installed {
            name: name.to_owned(),
            type_name: kind.name().to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
        };
        self.providers.push(BuiltIn {
            provider,
            stands_aside: false,
            is_listed: false,
            backends: Vec::new(),
        });
        self
    }

    /// The same for a provider whose controllers stand aside as long as it is installed.
    fn unless_installed(self, kind: ProviderType, name: &str, version: &str, namespace: &str) -> Self {
        let mut family = self.on_demand(kind, name, version, namespace);
        family.providers.iter_mut().for_each(|one| one.stands_aside = true);
        family
    }

    /// Adds Cluster API's Docker provider, of whose machines the family serves those with this backend.
    fn of_docker(self, backend: &str) -> Self {
        let mut family =
            self.unless_installed(ProviderType::Infrastructure, "docker", VERSION, "capd-system");
        for one in &mut family.providers {
            one.is_listed = true;
            one.backends.push(backend.to_owned());
        }
        family
    }

    /// Adds the controllers of another crate.
    fn with<C>(mut self, providers: &'static [Provider<C>], shared: fn(&Context) -> C) -> Self {
        let controllers = providers.iter().flat_map(|provider| provider.controllers);
        self.kinds.extend(controllers.flat_map(|controller| controller.reconciles).copied());
        self.providers.extend(providers.iter().filter_map(|provider| provider.inventory).map(listed));
        self.starts.push(Box::new(move |context| {
            let shared = shared(context);
            providers.iter().for_each(|provider| provider.start(&context.manager, &shared));
        }));
        self
    }

    /// Creates the family that runs real nodes on this machine. It has the kinds of the simulated infrastructure, with another backend.
    fn of_nodes() -> Self {
        let start: Start = Box::new(move |context| {
            if let Some(nodes) = &context.nodes {
                container_machines::PROVIDERS
                    .iter()
                    .for_each(|provider| provider.start(&context.manager, nodes));
            }
        });
        let family = Self { name: NODES, kinds: Vec::new(), providers: Vec::new(), starts: vec![start] };
        family.of_docker("docker")
    }

    /// Creates the family that runs the Pods of providers. A cluster with kubelets has these controllers already, so there it starts none.
    fn of_pods() -> Self {
        let all = || workloads::PROVIDERS.iter().chain(certificates::PROVIDERS);
        let controllers = all().flat_map(|provider| provider.controllers);
        let mut kinds: Vec<GroupKind> =
            controllers.flat_map(|controller| controller.reconciles).copied().collect();
        kinds.push(kubelet::KIND);
        let start: Start = Box::new(move |context| {
            if let Some(kubelet) = &context.kubelet {
                all().for_each(|provider| provider.start(&context.manager, &()));
                kubelet.start(&context.manager);
            }
        });
        Self { name: "pods", kinds, providers: Vec::new(), starts: vec![start] }
    }

    /// Creates the family that installs providers that are declared as objects. In a cluster of others, their own operator does it.
    fn of_operator() -> Self {
        let controllers = || operator::PROVIDERS.iter().flat_map(|provider| provider.controllers);
        let kinds = controllers().flat_map(|controller| controller.reconciles).copied().collect();
        let start: Start = Box::new(move |context| {
            if let Some(shared) = &context.operator {
                operator::PROVIDERS.iter().for_each(|provider| provider.start(&context.manager, shared));
            }
        });
        Self { name: "operator", kinds, providers: Vec::new(), starts: vec![start] }
    }

    /// Returns what its controllers reconcile, in words.
    pub fn reconciles(&self) -> String {
        match self.name {
            NODES => "DevCluster, DevMachine, DevMachinePool with `backend.docker`".to_owned(),
            _ => list(self.kinds.iter()),
        }
    }

    /// Starts the controllers of the family. They run until the manager ends.
    pub fn start(&self, context: &Context) {
        self.starts.iter().for_each(|start| start(context));
    }
}

/// Returns the provider of an entry that is in the inventory from the start.
fn listed(entry: InventoryEntry) -> BuiltIn {
    let provider = Installed {
        name: entry.name.to_owned(),
        type_name: entry.kind.to_owned(),
        version: VERSION.to_owned(),
        namespace: entry.namespace.to_owned(),
    };
    BuiltIn { provider, stands_aside: false, is_listed: true, backends: Vec::new() }
}
