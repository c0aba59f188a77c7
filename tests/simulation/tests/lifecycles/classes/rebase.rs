//! A Cluster gets another class.

use simulation::lifecycles::play::Rules;

use super::{GOES, live};

const RECORDING: &str = include_str!("../../../data/lifecycles/class-rebase.txt");

const ORDERS: &[(&str, &str)] = &[
    (
        "rebase to the class \"other\"",
        "KubeadmConfigTemplate demo-md-0-$template created
        MachineDeployment demo-md-0-$workers reference KubeadmConfigTemplate=demo-md-0-$template
        MachineSet $set created
        Machine $new created
        Machine $old deletionTimestamp=set
        Machine $old gone
        MachineSet $other gone",
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
        "...=Unknown WaitingForAvailableReplicasSet",
        "here, the numbers are known when the status is first written",
    ),
    ("... phase=Provisioned", "here, the Node is there when the provider ID is"),
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    (
        "... annotation pending-hooks removed",
        "there, the annotation is lost and set again by two controllers; here, it goes once",
    ),
    (
        "1 ClusterClass ... RefVersionsUpToDate=Unknown InternalError: Please check controller logs for errors...",
        "here, the condition says which template is missing",
    ),
    (
        "...ClusterClass other-kind-infra RefVersionsUpToDate=True RefVersionsUpToDate",
        "here, the provider whose kind the class names is not installed",
    ),
    (
        "... owner ClusterClass ... removed",
        "there, classes take the owners of shared templates from each other for a moment",
    ),
];

#[test]
fn a_cluster_gets_another_class() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
