//! The steps of a control plane's plan.

use super::addons;
use super::desired::Entry;
use crate::certificates::Purpose;

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Take control of the Machines of these names, and of the Secrets that their KubeadmConfigs own.
    AdoptMachines(Vec<String>),
    /// Make the Cluster an owner of the infrastructure template.
    OwnTemplate,
    /// Create the missing Secrets.
    MakeCertificates(Vec<Purpose>),
    /// Take control of the Secrets that another controller created for this control plane.
    OwnSecrets(Vec<Purpose>),
    /// Create or reissue the kubeconfig.
    MakeKubeconfig,
    /// Take control of the kubeconfig Secret.
    OwnKubeconfig,
    /// Update labels, annotations, readiness gates, time-outs and taints of the Machines in place.
    SyncMachines,
    /// Delete the KubeadmConfigs and the infrastructure objects of these names, which have no Machine.
    DeleteLeftovers(Vec<String>),
    /// Create a Machine in this failure domain.
    CreateMachine(Entry, Option<String>),
    /// Ask whether the Machine of this name can be updated in place.
    AskForUpdate(String),
    /// Start the update in place of the Machine of this name, or go on with the start.
    StartUpdate(String),
    /// Delete the Machine of this name.
    DeleteMachine(String),
    /// Move etcd's leadership from the Node `from` to the member `to`.
    MoveLeader {
        /// Name of the Node whose member leads.
        from: String,
        /// ID of the member that is to lead.
        to: u64,
    },
    /// Remove the member with this ID from etcd.
    RemoveMember(u64),
    /// Remove the pre-terminate hook of the Machine of this name, so that it is terminated.
    RemoveHook(String),
    /// Change the workload cluster: what kubeadm needs there before a Node joins, or kube-proxy or CoreDNS, which differ from the spec.
    ChangeAddon(addons::Change),
    /// Read when the certificates of these Machines expire.
    ReadCertificateExpiry(Vec<String>),
}
