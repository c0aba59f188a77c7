//! Reads the objects on which the plan of a Metal3Machine depends.

use std::sync::Arc;

use engine::events::Recorder;
use engine::names::{CLONED_FROM_NAME, CONTROL_PLANE_NAME, DEPLOYMENT_NAME};
use engine::object::{annotation, is_deleting, label, uid};
use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::{Node, Secret};
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{
    Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine, Metal3MachineTemplate,
};
use schemas::metal3::BareMetalHost;

use super::node::{self, Identity, NodeState};
use super::observed::Observed;
use crate::claiming::Claiming;
use crate::consumer::ConsumerKind;
use crate::names::HOST;

/// Index of hosts by the Metal3Machine that they name as their consumer, `namespace/name`.
pub(crate) const BY_CONSUMER: &str = "metal3-consumer";

/// The controller of Metal3Machines.
pub(super) struct Metal3MachineController {
    pub objects: Objects<Metal3Machine>,
    pub machines: Objects<Machine>,
    pub clusters: Objects<Cluster>,
    pub metal3_clusters: Objects<Metal3Cluster>,
    pub templates: Objects<Metal3MachineTemplate>,
    pub hosts: Objects<BareMetalHost>,
    pub claims: Objects<Metal3DataClaim>,
    pub data: Objects<Metal3Data>,
    pub secrets: Objects<Secret>,
    pub claiming: Claiming,
    pub recorder: Recorder,
    pub manager: Manager,
}

/// Returns the Metal3Machine that the host names as its consumer.
pub(crate) fn consumer(host: &BareMetalHost) -> Option<NamespacedName> {
    ConsumerKind::Machine.of(host)
}

impl Metal3MachineController {
    /// Returns the Machine that owns a Metal3Machine.
    pub(super) fn machine_of(&self, object: &Metal3Machine) -> Option<Arc<Machine>> {
        self.machines.get(&owners::named::<Machine>(object)?)
    }

    /// Reads the state on which the plan of `object` depends.
    pub(super) fn read(&self, object: Arc<Metal3Machine>, cluster: Option<Arc<Cluster>>) -> Observed {
        let name = NamespacedName::of(object.as_ref());
        let machine = self.machine_of(&object);
        let host = self.host_of(&object, &name);
        let hosts = match host.is_none() && !is_deleting(object.as_ref()) {
            true => self.hosts.in_namespace(&name.namespace),
            false => Vec::new(),
        };
        let in_namespace = |other: &str| NamespacedName::new(name.namespace.as_str(), other);
        let infrastructure = cluster.as_ref().and_then(|cluster| cluster.spec.infrastructure_ref.as_ref());
        let metal3_cluster =
            infrastructure.and_then(|reference| self.metal3_clusters.get(&in_namespace(&reference.name)));
        let template = annotation(object.as_ref(), CLONED_FROM_NAME)
            .and_then(|template| self.templates.get(&in_namespace(template)));
        let claim = self.claims.get(&name);
        let data = claim.as_ref().and_then(|claim| {
            let rendered = claim.status.as_ref()?.rendered_data.as_ref()?;
            self.data.get(&in_namespace(rendered.name.as_deref()?))
        });
        let node = match (&cluster, &host, &machine) {
            (Some(cluster), Some(host), Some(machine)) => self.node(&name, cluster, host, machine),
            _ => NodeState::NotConnected,
        };
        Observed {
            reuse: machine.as_deref().and_then(reuse_key),
            is_reusable: template.is_some_and(|template| template.spec.node_reuse == Some(true)),
            name,
            object,
            machine,
            cluster,
            metal3_cluster,
            host,
            hosts,
            claim,
            data,
            node,
        }
    }

    /// Returns the host of a machine: the one that names it as consumer, or else the one in its annotation.
    fn host_of(&self, object: &Metal3Machine, name: &NamespacedName) -> Option<Arc<BareMetalHost>> {
        let claimed = self.hosts.by_index(BY_CONSUMER, &name.to_string()).into_iter().next();
        claimed.or_else(|| {
            let key = NamespacedName::parse(annotation(object, HOST)?)?;
            let host = self.hosts.get(&key)?;
            (key.namespace == name.namespace && host.spec.consumer_ref.is_none()).then_some(host)
        })
    }

    fn node(
        &self,
        name: &NamespacedName,
        cluster: &Cluster,
        host: &BareMetalHost,
        machine: &Machine,
    ) -> NodeState {
        let Ok(workload) = self.manager.clusters().get(&NamespacedName::of(cluster)) else {
            return NodeState::NotConnected;
        };
        let host_name = host.metadata.name.as_deref().unwrap_or_default();
        let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
        let hostname = hardware.and_then(|hardware| hardware.hostname.as_deref());
        let identity = Identity {
            provider_id: &node::provider_id(name, host_name),
            host_uid: uid(host),
            hostname: hostname.filter(|_| machine.spec.bootstrap.config_ref.is_none()),
        };
        node::find(&workload.objects::<Node>().all(), &identity)
    }
}

/// Returns the value of the label for node reuse: the control plane or MachineDeployment of a Machine.
fn reuse_key(machine: &Machine) -> Option<String> {
    let control_plane = label(machine, CONTROL_PLANE_NAME).map(|name| format!("cp-{name}"));
    control_plane.or_else(|| label(machine, DEPLOYMENT_NAME).map(|name| format!("md-{name}")))
}
