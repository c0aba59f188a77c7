//! A Cluster of a class comes, is scaled and upgraded, and goes.

use simulation::lifecycles::play::Rules;

use super::{GOES, live};

const RECORDING: &str = include_str!("../../../data/lifecycles/topology.txt");

const ORDERS: &[(&str, &str)] = &[
    (
        "topology: version v1.36.0",
        "KubeadmControlPlane demo-$plane version=v1.36.0
        Machine demo-$a version=v1.36.0
        Machine demo-$x gone
        Machine demo-$b version=v1.36.0
        Machine demo-$y gone
        Machine demo-$c version=v1.36.0
        Machine demo-$z gone
        MachineDeployment demo-md-0-$workers version=v1.36.0
        MachineSet $set created
        Machine demo-md-0-$machine created
        Cluster demo TopologyReconciled=True ReconcileSucceeded",
    ),
    ("delete the cluster", GOES),
];
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "... Deleting=True DeletionCompleted",
        "here, an object is gone at the moment at which its deletion is completed",
    ),
    ("...=False ObjectDeleted", "here, an object is gone when the last one that it waits for is"),
    ("...=False NodeDeleted", "here, a Machine is gone when its Node is"),
    (
        "...=True NoReplicas",
        "here, Machines are created and gone within the reconcile that begins and ends it",
    ),
    ("... phase=ScalingDown", "here, a phase that ends in the same reconcile is not written"),
    (
        "... NodeKubeadmLabelsAndTaintsSet=False Deleting",
        "here, a Node is not looked at any more when its Machine goes",
    ),
    (
        "...=Unknown WaitingForAvailableReplicasSet",
        "here, the numbers are known when the status is first written",
    ),
    ("... phase=Provisioned", "here, the Node is there when the provider ID is"),
    ("...=Unknown InspectionFailed", "there, a control plane is looked for after its last machine has gone"),
    (
        "... Ready=Unknown ReadyUnknown",
        "here, the parts of a Machine are known when its status is first written",
    ),
    (
        "... MachinesReady=Unknown ReadyUnknown",
        "here, the parts of a Machine are known when its status is first written",
    ),
    ("...=Unknown HealthUnknown", "here, the parts of a Machine are known when its status is first written"),
    ("1 ClusterClass in-memory ...", "there, the class was not recorded"),
];

#[test]
fn a_cluster_of_a_class_is_scaled_and_upgraded() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
