//! A MachineDeployment leaves a topology, another one comes, and all of it is deleted.

use simulation::lifecycles::play::Rules;

use super::{GOES, live};

const RECORDING: &str = include_str!("../../../data/lifecycles/topology-delete.txt");

/// The recording also has a deletion of the class that is refused while the Cluster goes. Here, that is over too soon.
const ORDERS: &[(&str, &str)] = &[
    (
        "topology: remove MachineDeployment md-1",
        "MachineHealthCheck demo-md-1-$workers gone
        MachineDeployment demo-md-1-$workers deletionTimestamp=set
        MachineSet $set deletionTimestamp=set
        Machine $machine deletionTimestamp=set
        Machine $machine gone
        MachineSet $set gone
        MachineDeployment demo-md-1-$workers gone",
    ),
    (
        "topology: add MachineDeployment md-2",
        "KubeadmConfigTemplate demo-md-2-$template created
        MachineDeployment demo-md-2-$workers created
        MachineSet $set created
        Machine $machine created",
    ),
    ("delete the cluster", GOES),
    ("delete the ClusterClass after", "ClusterClass base gone\nDevClusterTemplate infra gone"),
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
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    (
        "... NodeKubeadmLabelsAndTaintsSet=False Deleting",
        "here, a Node is not looked at any more when its Machine goes",
    ),
    (
        "...=Unknown WaitingForAvailableReplicasSet",
        "here, the numbers are known when the status is first written",
    ),
    (
        "... annotation pending-hooks removed",
        "there, the annotation is lost and set again by two controllers; here, it goes once",
    ),
];

#[test]
fn parts_of_a_topology_are_deleted() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
