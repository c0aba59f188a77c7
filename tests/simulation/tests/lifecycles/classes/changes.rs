//! A class changes, and a Cluster of it.

use simulation::lifecycles::play::Rules;

use super::{GOES, WORKERS, live};

const RECORDING: &str = include_str!("../../../data/lifecycles/class-change.txt");

const ORDERS: &[(&str, &str)] = &[
    (
        "class: labels and annotations",
        "KubeadmControlPlane demo-$plane label cp-label=one
        Machine demo-$machine label cp-label=one",
    ),
    (
        "class: labels and annotations",
        "MachineDeployment demo-md-0-$workers label md-label=one
        MachineSet demo-md-0-$set label md-label=one
        Machine demo-md-0-$machine label md-label=one",
    ),
    ("class: bootstrap template md-boot-2", WORKERS),
    ("class: a variable with a default", WORKERS),
    ("cluster: variable greeting", WORKERS),
    ("cluster: override of the variable", WORKERS),
    (
        "class: control plane template cp-2",
        "Machine demo-$new created
        Machine demo-$new NodeHealthy=True NodeHealthy
        Machine demo-$old deletionTimestamp=set
        Machine demo-$old gone",
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
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    (
        "... annotation pending-hooks removed",
        "there, the annotation is lost and set again by two controllers; here, it goes once",
    ),
    (
        "Cluster demo TopologyReconciled=False ReconcileFailed",
        "there, a Cluster fails until its class was looked at again; here, a class is looked at first",
    ),
    (
        "1 MachineHealthCheck ... expectedMachines=...",
        "there, a health check does not see that a Machine is gone",
    ),
    (
        "... ScalingUp=True ScalingUp",
        "here, a Machine that a stranger took away is created again in the moment in which that is seen",
    ),
    (
        "... phase=ScalingUp",
        "here, a Machine that a stranger took away is created again in the moment in which that is seen",
    ),
];

#[test]
fn a_class_is_changed() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
