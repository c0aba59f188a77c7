//! Recorded lives of Clusters of a class, with the requests of their users.

mod changes;
mod deletion;
mod errors;
mod plain;
mod rebase;
mod upgrades;

use simulation::lifecycles::play::{Rules, play};
use simulation::simulation::Simulation;

/// The deletion of the Cluster.
const GOES: &str = "
    Cluster demo deletionTimestamp=set
    MachineDeployment demo-md-0-$workers deletionTimestamp=set
    MachineDeployment demo-md-0-$workers gone
    KubeadmControlPlane demo-$plane deletionTimestamp=set
    Machine demo-$machine gone
    KubeadmControlPlane demo-$plane gone
    DevCluster demo-$infrastructure deletionTimestamp=set
    DevCluster demo-$infrastructure gone
    Cluster demo gone";
/// Another bootstrap template replaces two workers, one after the other.
const WORKERS: &str = "
    KubeadmConfigTemplate demo-md-0-$template created
    MachineDeployment demo-md-0-$workers reference KubeadmConfigTemplate=demo-md-0-$template
    MachineSet $set created
    Machine $a created
    Machine $x deletionTimestamp=set
    Machine $x gone
    Machine $b created
    Machine $y deletionTimestamp=set
    Machine $y gone
    MachineSet $old deletionTimestamp=set
    MachineSet $old gone";

/// A pattern of differences that are right, and why.
type Exception = (&'static str, &'static str);

/// The exceptions of each life.
const OF_EACH_LIFE: &[Exception] = &[
    (
        "... Deleting=True DeletionCompleted",
        "here, an object is gone at the moment at which its deletion is completed",
    ),
    ("...=False ObjectDeleted", "here, an object is gone when the last one that it waits for is"),
    (
        "...=True NoReplicas",
        "here, Machines are created and gone within the reconcile that begins and ends it",
    ),
    ("... phase=ScalingDown", "here, a phase that ends in the same reconcile is not written"),
    (
        "...=Unknown WaitingForAvailableReplicasSet",
        "here, the numbers are known when the status is first written",
    ),
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    ("Cluster ...=Unknown RollingOutUnknown", "here, the parts are known when the status is first written"),
    ("Cluster ...=Unknown Scaling...Unknown", "here, the parts are known when the status is first written"),
    (
        "...MachinesReady=Unknown ReadyUnknown",
        "here, the parts of a Machine are known when the status of its owner is next written",
    ),
];
const PROVISIONED: Exception = ("... phase=Provisioned", "here, the Node is there when the provider ID is");
const CONTROL_PLANE_WITHOUT_MACHINES: Exception =
    ("...=Unknown InspectionFailed", "there, a control plane is looked for after its last machine has gone");
const READY_UNKNOWN: Exception = (
    "... Ready=Unknown ReadyUnknown",
    "here, the parts of a Machine are known when its status is first written",
);
const PENDING_HOOKS: Exception = (
    "... annotation pending-hooks removed",
    "there, the annotation is lost and set again by two controllers; here, it goes once",
);
const TOPOLOGY_ERROR: Exception =
    ("1 Cluster ... TopologyReconciled=False ReconcileFailed: ...", "an error has words of its own");
const MISSING_TEMPLATE: Exception = (
    "1 ClusterClass ... RefVersionsUpToDate=Unknown InternalError: Please check controller logs for errors...",
    "here, the condition says which template is missing",
);

/// Plays a recording in a fresh simulation. The exceptions of `rules` are those that not each life needs.
fn live(recording: &str, rules: Rules<'_>) {
    let exceptions = &[OF_EACH_LIFE, rules.exceptions].concat();
    let rules = Rules { exceptions, ..rules };
    let lived = Simulation::new(1).live(async |life, _| play(life, recording, rules).await);
    if let Err(error) = lived {
        panic!("{error:?}");
    }
}
