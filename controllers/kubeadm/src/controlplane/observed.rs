//! What a control plane is decided from.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::clusters::Health;
use engine::object;
use k8s_openapi::api::core::v1::{Node, Pod};
use schemas::HasConditions;
use schemas::bootstrap::{ClusterConfiguration, KubeadmConfig};
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;

use crate::certificates::{self, Purpose};
use crate::etcd::Etcd;
use crate::names::condition;

/// Everything that decides what happens to a KubeadmControlPlane.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The object.
    pub control_plane: Arc<KubeadmControlPlane>,
    /// Its cluster.
    pub cluster: Arc<Cluster>,
    /// Its Machines, in order of name.
    pub machines: Vec<ControlPlaneMachine>,
    /// Control plane Machines of the cluster that have no controller: they would have to be adopted.
    pub orphans: Vec<String>,
    /// Control plane Machines of the cluster that somebody else controls, and who.
    pub foreign: Vec<String>,
    /// Names under which a KubeadmConfig or infrastructure was made for a Machine that never was: this process was stopped in between.
    pub leftovers: Vec<String>,
    /// Worker Machines and MachinePools of the cluster, which go first when it is deleted.
    pub workers: Vec<String>,
    /// Secrets with authorities and keys that exist, and whether they are controlled by the control plane where they have to be.
    pub secrets: BTreeMap<Purpose, bool>,
    /// The kubeconfig Secret.
    pub kubeconfig: Kubeconfig,
    /// The infrastructure template.
    pub template: Template,
    /// What is known of the connection to the workload cluster.
    pub health: Health,
    /// The workload cluster, while it is connected.
    pub workload: Option<View>,
    /// What failed in the last apply.
    pub failure: Option<String>,
}

/// A control plane Machine and what belongs to it.
#[derive(Debug, Clone)]
pub struct ControlPlaneMachine {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// Its KubeadmConfig.
    pub config: Option<Arc<KubeadmConfig>>,
    /// Name and `Kind.group` of the template its infrastructure was cloned from; `None` while the object does not exist.
    pub cloned_from: Option<(String, String)>,
}

impl ControlPlaneMachine {
    /// The Machine's name.
    pub fn name(&self) -> &str {
        self.machine.metadata.name.as_deref().unwrap_or_default()
    }

    /// The name of its node, once it is known.
    pub fn node(&self) -> Option<&str> {
        node_name(&self.machine)
    }

    /// Whether its deletion has begun.
    pub fn is_deleting(&self) -> bool {
        object::is_deleting(self.machine.as_ref())
    }
}

/// The name of a Machine's node, once it is known.
pub fn node_name(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref().map(|node| node.name.as_str())
}

/// Whether a pod reports that it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The kubeconfig Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kubeconfig {
    /// There is none.
    Missing,
    /// It is of Cluster API's type and nobody controls it.
    Unowned,
    /// It is the control plane's, and its certificate expires then.
    Ours(DateTime<Utc>),
    /// A user gave it.
    Given,
}

/// The infrastructure template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// It does not exist.
    Missing,
    /// It exists but does not name the Cluster as an owner.
    Unowned,
    /// It exists and is the Cluster's.
    Owned,
}

/// A connected workload cluster.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Whether kubeadm's configuration is there: the sign of a finished `kubeadm init`.
    pub initialized: bool,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// Pods of `kube-system` by name.
    pub pods: BTreeMap<String, Arc<Pod>>,
    /// etcd, or why it can't be read; `None` when it is external or not asked yet.
    pub etcd: Option<Result<Etcd, String>>,
}

impl Observed {
    /// The cluster configuration, with everything unset where there is none.
    pub fn cluster_configuration(&self) -> ClusterConfiguration {
        let spec = self.control_plane.spec.kubeadm_config_spec.as_ref();
        spec.and_then(|spec| spec.cluster_configuration.clone()).unwrap_or_default()
    }

    /// Whether etcd runs on the control plane's Machines.
    pub fn is_etcd_managed(&self) -> bool {
        let spec = self.control_plane.spec.kubeadm_config_spec.as_ref();
        let config = spec.and_then(|spec| spec.cluster_configuration.as_ref());
        config.is_none_or(|config| certificates::external_etcd(config).is_none())
    }

    /// Whether the control plane was seen initialised before.
    pub fn was_initialized(&self) -> bool {
        let status = self.control_plane.status.as_ref();
        let initialization = status.and_then(|status| status.initialization.as_ref());
        initialization.is_some_and(|initialization| initialization.control_plane_initialized == Some(true))
    }

    /// Whether the control plane is initialised, as far as is known now.
    pub fn is_initialized(&self) -> bool {
        self.was_initialized() || self.workload.as_ref().is_some_and(|view| view.initialized)
    }

    /// How many Machines there should be.
    pub fn desired_replicas(&self) -> usize {
        if object::is_deleting(self.control_plane.as_ref()) {
            return 0;
        }
        usize::try_from(self.control_plane.spec.replicas.unwrap_or(schemas::defaults::REPLICAS)).unwrap_or(0)
    }

    /// Whether the cluster has control plane Machines that are not this control plane's: a member of etcd that none of ours accounts
    /// for may be theirs.
    pub fn is_mixed(&self) -> bool {
        !self.orphans.is_empty() || !self.foreign.is_empty()
    }

    /// etcd, when it could be read.
    pub fn etcd(&self) -> Option<&Etcd> {
        self.workload.as_ref()?.etcd.as_ref()?.as_ref().ok()
    }

    /// Whether there is an endpoint to talk to.
    pub fn has_endpoint(&self) -> bool {
        let endpoint = self.cluster.spec.control_plane_endpoint.as_ref();
        endpoint.is_some_and(|endpoint| {
            endpoint.host.as_deref().is_some_and(|host| !host.is_empty())
                && endpoint.port.is_some_and(|port| port > 0)
        })
    }
}

/// The conditions of a Machine that tell whether its control plane components are well.
pub fn component_conditions(etcd_managed: bool) -> Vec<&'static str> {
    let mut all =
        vec![condition::API_SERVER_POD, condition::CONTROLLER_MANAGER_POD, condition::SCHEDULER_POD];
    if etcd_managed {
        all.push(condition::ETCD_POD);
    }
    all
}

/// Whether a Machine's control plane components, and its etcd member, are well.
pub fn is_healthy(machine: &Machine, etcd_managed: bool) -> bool {
    let components = component_conditions(etcd_managed);
    components.iter().all(|type_| machine.condition_is_true(type_))
        && (!etcd_managed || machine.condition_is_true(condition::ETCD_MEMBER))
}
