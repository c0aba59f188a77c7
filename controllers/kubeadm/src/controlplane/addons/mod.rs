//! The add-ons of a workload cluster that follow the control plane: kube-proxy and CoreDNS. They are observed in
//! the workload cluster, so that a difference is corrected whoever makes it.

pub mod apply;
mod coredns;
pub mod corefile;
pub mod image;
mod kube_proxy;
pub mod kubeadm_config;
pub mod upgrade;

use std::sync::Arc;

pub use corefile::migrate;
use engine::{ClusterCache, Kind, NamespacedName, Queue, Scope, Workload, object};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
use schemas::controlplane::KubeadmControlPlane;
pub use upgrade::{BINDINGS, Binding};

use crate::names;

const NAMESPACE: &str = "kube-system";

/// A built-in kind with namespaces.
trait NamedKind:
    Kind<DynamicType = ()>
    + k8s_openapi::Resource
    + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
    + serde::de::DeserializeOwned
    + Clone
    + std::fmt::Debug
{
}
impl NamedKind for DaemonSet {}
impl NamedKind for Deployment {}

fn kubeadm_config_name() -> NamespacedName {
    NamespacedName::new(NAMESPACE, "kubeadm-config")
}

fn coredns_name() -> NamespacedName {
    NamespacedName::new(NAMESPACE, "coredns")
}

fn kube_proxy_name() -> NamespacedName {
    NamespacedName::new(NAMESPACE, "kube-proxy")
}

/// The objects of the add-ons, as far as they exist.
#[derive(Debug, Clone, Default)]
pub struct Addons {
    /// kubeadm's configuration, which `kubeadm init` writes near its end.
    pub kubeadm_config: Option<Arc<ConfigMap>>,
    /// The DaemonSet of kube-proxy.
    pub kube_proxy: Option<Arc<DaemonSet>>,
    /// The Deployment of CoreDNS.
    pub coredns: Option<Arc<Deployment>>,
    /// The ConfigMap with CoreDNS's configuration, the Corefile.
    pub corefile: Option<Arc<ConfigMap>>,
    /// kubeadm's ClusterRoleBindings that do not exist; only read while Machines are replaced.
    pub missing_bindings: Vec<Binding>,
}

impl Addons {
    /// Reads the add-ons of a connected cluster from the caches.
    pub fn read(workload: &Workload) -> Self {
        let map = |name: NamespacedName| workload.objects_in::<ConfigMap>(&Scope::named(&name)).get(&name);
        Self {
            kubeadm_config: map(kubeadm_config_name()),
            kube_proxy: workload
                .objects_in::<DaemonSet>(&Scope::named(&kube_proxy_name()))
                .get(&kube_proxy_name()),
            coredns: workload.objects_in::<Deployment>(&Scope::named(&coredns_name())).get(&coredns_name()),
            corefile: map(coredns_name()),
            missing_bindings: Vec::new(),
        }
    }
}

/// Returns whether CoreDNS was installed, which `kubeadm init` does at its end.
pub(crate) fn has_coredns(workload: &Workload) -> bool {
    let name = coredns_name();
    workload.objects_in::<Deployment>(&Scope::named(&name)).get(&name).is_some()
}

/// Watches the add-ons of all workload clusters. `requests` returns the control plane of a Cluster.
pub fn watch(
    clusters: &ClusterCache,
    queue: &Arc<Queue>,
    requests: impl Fn(&NamespacedName) -> Vec<object::Request> + Clone + Send + Sync + 'static,
) {
    for name in [kubeadm_config_name(), coredns_name()] {
        let requests = requests.clone();
        clusters.watch_in::<ConfigMap>(queue, Scope::named(&name), move |cluster, _| requests(cluster));
    }
    let of_proxy = requests.clone();
    clusters.watch_in::<DaemonSet>(queue, Scope::named(&kube_proxy_name()), move |cluster, change| {
        let old = change.old.as_ref().map(|found| &found.spec);
        if old == change.new.as_ref().map(|found| &found.spec) { Vec::new() } else { of_proxy(cluster) }
    });
    clusters.watch_in::<Deployment>(queue, Scope::named(&coredns_name()), move |cluster, change| {
        let old = change.old.as_ref().map(|found| &found.spec);
        if old == change.new.as_ref().map(|found| &found.spec) { Vec::new() } else { requests(cluster) }
    });
}

/// One write to the workload cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Create a ClusterRoleBinding.
    ClusterRoleBinding(Binding),
    /// Set the image of kube-proxy.
    KubeProxyImage(String),
    /// Write kubeadm's configuration.
    KubeadmConfig {
        /// The new text.
        text: String,
        /// The `resourceVersion` that it replaces.
        version: String,
    },
    /// Write CoreDNS's configuration, and a copy of what it was before.
    Corefile {
        /// The configuration.
        corefile: String,
        /// The copy.
        backup: String,
        /// The `resourceVersion` that it replaces.
        version: String,
    },
    /// Let CoreDNS read the copy of its configuration, so that the old version never reads the new one.
    MountBackup,
    /// Set the image of CoreDNS.
    CoreDnsImage {
        /// The image.
        image: String,
        /// Whether CoreDNS reads its configuration again rather than the copy.
        mounts: bool,
    },
}

/// The changes of the add-ons, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// The writes; the first failure ends them.
    pub changes: Vec<Change>,
    /// The reason why CoreDNS is not updated.
    pub trouble: Option<String>,
}

/// Compares the add-ons with the spec of the control plane. Pure function.
pub fn plan(addons: &Addons, control_plane: &KubeadmControlPlane) -> Decision {
    let mut decision = Decision::default();
    let spec = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = spec.and_then(|spec| spec.cluster_configuration.as_ref());
    if object::annotation(control_plane, names::SKIP_KUBE_PROXY).is_none() {
        decision.changes.extend(kube_proxy::change(addons, &control_plane.spec.version, config));
    }
    if let Some(config) = config
        && object::annotation(control_plane, schemas::names::SKIP_COREDNS).is_none()
    {
        match coredns::changes(addons, config) {
            Ok(changes) => decision.changes.extend(changes),
            Err(trouble) => decision.trouble = Some(trouble),
        }
    }
    decision
}

/// Returns the image of a container.
fn container_image<'a>(spec: Option<&'a PodSpec>, container: &str) -> Option<&'a str> {
    spec?.containers.iter().find(|found| found.name == container)?.image.as_deref()
}
