//! The conversion of each kind.

use super::cluster_api::{cluster, cluster_class, kubeadm, machines, other};
use super::metal3::{self, data, data_template, remediation};
use super::moves::Move::{self, Custom};

/// How the objects of a kind are converted between an older version and `v1beta2`.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The fields that correspond. Applied to an object without metadata whose fields have the types of its version; what has another
    /// type is left alone. The results are canonical: what `down` makes is the same after `up` and `down`, and the reverse, so a
    /// difference between two results is a change that a client made.
    pub moves: &'static [Move],
    /// What is kept of an object that is converted.
    pub keeps: Keeps,
    /// Whether the label for the name of the Cluster stands for `spec.clusterName`.
    pub is_labelled: bool,
}

/// Which objects have, after a conversion, the object before it in an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// None. The versions can express the same.
    Nothing,
    /// Those in the older version, always. What only the older version can express is lost, as with upstream's webhooks.
    Newer,
    /// Those in both versions, if they would lose something.
    Both,
}

/// Returns the conversion of a kind; `None` if none is needed.
pub fn rules(group: &str, kind: &str, older: &str) -> Option<Rules> {
    match group {
        "cluster.x-k8s.io" => core(kind),
        "infrastructure.cluster.x-k8s.io" => simulated(kind).or_else(|| metal3(kind)),
        "bootstrap.cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io" => kubeadm(kind),
        "addons.cluster.x-k8s.io" | "ipam.cluster.x-k8s.io" | "runtime.cluster.x-k8s.io" => {
            others(kind, older)
        }
        _ => None,
    }
}

const fn kept(moves: &'static [Move]) -> Option<Rules> {
    Some(Rules { moves, keeps: Keeps::Newer, is_labelled: false })
}

const fn equal(moves: &'static [Move]) -> Option<Rules> {
    Some(Rules { moves, keeps: Keeps::Nothing, is_labelled: false })
}

const fn both(moves: &'static [Move]) -> Option<Rules> {
    Some(Rules { moves, keeps: Keeps::Both, is_labelled: false })
}

fn core(kind: &str) -> Option<Rules> {
    match kind {
        "Cluster" => kept(cluster::CLUSTER),
        "ClusterClass" => kept(cluster_class::CLUSTER_CLASS),
        "Machine" => kept(machines::MACHINE),
        "MachineSet" => equal(machines::MACHINE_SET),
        "MachineDeployment" => kept(machines::MACHINE_DEPLOYMENT),
        "MachinePool" => kept(machines::MACHINE_POOL),
        "MachineHealthCheck" => kept(machines::MACHINE_HEALTH_CHECK),
        _ => None,
    }
}

fn kubeadm(kind: &str) -> Option<Rules> {
    match kind {
        "KubeadmConfig" => kept(kubeadm::KUBEADM_CONFIG),
        "KubeadmConfigTemplate" => kept(kubeadm::KUBEADM_CONFIG_TEMPLATE),
        "KubeadmControlPlane" => kept(kubeadm::KUBEADM_CONTROL_PLANE),
        "KubeadmControlPlaneTemplate" => kept(kubeadm::KUBEADM_CONTROL_PLANE_TEMPLATE),
        _ => None,
    }
}

fn others(kind: &str, older: &str) -> Option<Rules> {
    match (kind, older) {
        ("ClusterResourceSet" | "ExtensionConfig", _) | ("IPAddressClaim", "v1beta1") => {
            equal(other::ONLY_CONDITIONS)
        }
        ("IPAddressClaim", _) => {
            Some(Rules { moves: other::OLD_CLAIM, keeps: Keeps::Newer, is_labelled: true })
        }
        _ => None,
    }
}

fn simulated(kind: &str) -> Option<Rules> {
    match kind {
        "DevCluster" => kept(other::DEV_CLUSTER),
        "DevClusterTemplate" => equal(other::DEV_CLUSTER_TEMPLATE),
        "DevMachine" => kept(other::DEV_MACHINE),
        "DevMachineTemplate" => kept(&[]),
        _ => None,
    }
}

fn metal3(kind: &str) -> Option<Rules> {
    use metal3::{cluster, machine};
    match kind {
        "Metal3Cluster" => both(&[Custom { up: cluster::up, down: cluster::down }]),
        "Metal3ClusterTemplate" => both(&[Custom { up: cluster::template_up, down: cluster::template_down }]),
        "Metal3Machine" => both(&[Custom { up: machine::up, down: machine::down }]),
        "Metal3MachineTemplate" => both(&[Custom { up: machine::template_up, down: machine::template_down }]),
        "Metal3DataTemplate" => both(&[Custom { up: data_template::up, down: data_template::down }]),
        "Metal3DataClaim" => both(&[Custom { up: data::claim_up, down: data::claim_down }]),
        "Metal3Data" => both(&[Custom { up: data::up, down: data::down }]),
        "Metal3Remediation" => both(&[Custom { up: remediation::up, down: remediation::down }]),
        "Metal3RemediationTemplate" => {
            both(&[Custom { up: remediation::template_up, down: remediation::template_down }])
        }
        _ => None,
    }
}
