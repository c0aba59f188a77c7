//! The observed state that a control plane's plan is computed from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::clusters::Health;
use engine::in_place::Decision;
use engine::object;
use k8s_openapi::api::core::v1::{Node, Pod};
use schemas::HasConditions;
use schemas::bootstrap::{ClusterConfiguration, KubeadmConfig};
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;

use super::addons::Addons;
use crate::certificates::{self, Purpose};
use crate::etcd::Etcd;
use crate::names::condition;

/// The state of the world that a KubeadmControlPlane's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled KubeadmControlPlane.
    pub control_plane: Arc<KubeadmControlPlane>,
    /// The Cluster that owns it.
    pub cluster: Arc<Cluster>,
    /// The control plane's Machines, in order of name.
    pub machines: Vec<ControlPlaneMachine>,
    /// The cluster's control plane Machines without a controller, which are adopted.
    pub orphans: Vec<Arc<Machine>>,
    /// Control plane Machines of the cluster with another controller, each with the name of that controller.
    pub foreign: Vec<String>,
    /// Names under which a KubeadmConfig or an infrastructure object exists without a Machine, because their
    /// creation was interrupted.
    pub leftovers: Vec<String>,
    /// Worker Machines and MachinePools of the cluster, which are deleted first.
    pub workers: Vec<String>,
    /// Existing Secrets with authorities and keys, and whether the control plane controls them as far as it
    /// must.
    pub secrets: BTreeMap<Purpose, bool>,
    /// Those of the Secrets without a private key, which is kept elsewhere.
    pub keyless: BTreeSet<Purpose>,
    /// The reasons why others of the Secrets cannot be used.
    pub unusable: Vec<String>,
    /// When the first of the certificates becomes valid that are not yet.
    pub valid_from: Option<DateTime<Utc>>,
    /// State of the kubeconfig Secret.
    pub kubeconfig: Kubeconfig,
    /// State of the infrastructure template.
    pub template: Template,
    /// State of the connection to the workload cluster.
    pub health: Health,
    /// State of the workload cluster; `None` while it is not connected.
    pub workload: Option<View>,
    /// Whether updates in place are on.
    pub updates_in_place: bool,
    /// Whether Machines can be updated in place, by name, as far as it was asked for this generation of the control plane.
    pub decisions: BTreeMap<String, Decision>,
}

/// A control plane Machine and its objects.
#[derive(Debug, Clone)]
pub struct ControlPlaneMachine {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// The Machine's KubeadmConfig.
    pub config: Option<Arc<KubeadmConfig>>,
    /// Name and `Kind.group` of the template that the infrastructure was cloned from; `None` if the object
    /// does not exist.
    pub cloned_from: Option<(String, String)>,
}

impl ControlPlaneMachine {
    /// Returns the Machine's name.
    pub fn name(&self) -> &str {
        self.machine.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the name of the Machine's Node, or `None` if it is not known yet.
    pub fn node(&self) -> Option<&str> {
        node_name(&self.machine)
    }

    /// Returns whether the Machine is being deleted.
    pub fn is_deleting(&self) -> bool {
        object::is_deleting(self.machine.as_ref())
    }
}

/// Returns the name of a Machine's Node, or `None` if it is not known yet.
pub fn node_name(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref().map(|node| node.name.as_str())
}

/// Returns whether a Pod reports that it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The state of the kubeconfig Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kubeconfig {
    /// The Secret does not exist.
    Missing,
    /// The Secret has Cluster API's type and no controller.
    Unowned,
    /// The control plane controls the Secret; holds the expiry of its certificate.
    Ours(DateTime<Utc>),
    /// The control plane controls the Secret, and its content is no kubeconfig with a client certificate.
    Broken,
    /// A user created the Secret.
    Given,
}

/// The state of the infrastructure template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// The template does not exist.
    Missing,
    /// The template exists, but the Cluster is not one of its owners.
    Unowned,
    /// The template exists, and the Cluster owns it.
    Owned,
}

/// The state of a connected workload cluster.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Whether kubeadm's configuration exists, the sign of a finished `kubeadm init`.
    pub initialized: bool,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// Pods of `kube-system` by name.
    pub pods: BTreeMap<String, Arc<Pod>>,
    /// kubeadm's configuration, kube-proxy and CoreDNS.
    pub addons: Addons,
    /// State of etcd, or why it cannot be read; `None` if etcd is external or was not read.
    pub etcd: Option<Result<Etcd, String>>,
}

impl Observed {
    /// Returns the cluster configuration; the default if the spec has none.
    pub fn cluster_configuration(&self) -> ClusterConfiguration {
        let spec = self.control_plane.spec.kubeadm_config_spec.as_ref();
        spec.and_then(|spec| spec.cluster_configuration.clone()).unwrap_or_default()
    }

    /// Returns the name of the Cluster.
    pub fn cluster_name(&self) -> &str {
        self.cluster.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the Machine of this name.
    pub fn member(&self, name: &str) -> Option<&ControlPlaneMachine> {
        self.machines.iter().find(|member| member.name() == name)
    }

    /// Returns whether etcd runs on the control plane's Machines.
    pub fn is_etcd_managed(&self) -> bool {
        let spec = self.control_plane.spec.kubeadm_config_spec.as_ref();
        let config = spec.and_then(|spec| spec.cluster_configuration.as_ref());
        config.is_none_or(|config| certificates::external_etcd(config).is_none())
    }

    /// Returns whether the control plane was initialised according to its status.
    pub fn was_initialized(&self) -> bool {
        let status = self.control_plane.status.as_ref();
        let initialization = status.and_then(|status| status.initialization.as_ref());
        initialization.is_some_and(|initialization| initialization.control_plane_initialized == Some(true))
    }

    /// Returns whether the control plane is initialised according to its status or the workload cluster.
    pub fn is_initialized(&self) -> bool {
        self.was_initialized() || self.workload.as_ref().is_some_and(|view| view.initialized)
    }

    /// Returns the wanted number of Machines.
    pub fn desired_replicas(&self) -> usize {
        if object::is_deleting(self.control_plane.as_ref()) {
            return 0;
        }
        usize::try_from(self.control_plane.spec.replicas.unwrap_or(schemas::defaults::REPLICAS)).unwrap_or(0)
    }

    /// Returns whether the cluster has control plane Machines of other owners. An etcd member without a known
    /// Machine may then belong to one of those.
    pub fn is_mixed(&self) -> bool {
        !self.orphans.is_empty() || !self.foreign.is_empty()
    }

    /// Returns the state of etcd, or `None` if it could not be read.
    pub fn etcd(&self) -> Option<&Etcd> {
        self.workload.as_ref()?.etcd.as_ref()?.as_ref().ok()
    }

    /// Returns whether the Cluster has a control plane endpoint.
    pub fn has_endpoint(&self) -> bool {
        let endpoint = self.cluster.spec.control_plane_endpoint.as_ref();
        endpoint.is_some_and(|endpoint| {
            endpoint.host.as_deref().is_some_and(|host| !host.is_empty())
                && endpoint.port.is_some_and(|port| port > 0)
        })
    }
}

/// Returns the types of the Machine conditions about control plane components.
pub fn component_conditions(etcd_managed: bool) -> Vec<&'static str> {
    let mut all =
        vec![condition::API_SERVER_POD, condition::CONTROLLER_MANAGER_POD, condition::SCHEDULER_POD];
    if etcd_managed {
        all.push(condition::ETCD_POD);
    }
    all
}

/// Returns whether all control plane components of a Machine are healthy.
pub fn are_components_healthy(machine: &Machine, etcd_managed: bool) -> bool {
    component_conditions(etcd_managed).iter().all(|type_| machine.condition_is_true(type_))
}

/// Returns whether a Machine's control plane components, and its etcd member, are healthy.
pub fn is_healthy(machine: &Machine, etcd_managed: bool) -> bool {
    are_components_healthy(machine, etcd_managed)
        && (!etcd_managed || machine.condition_is_true(condition::ETCD_MEMBER))
}
