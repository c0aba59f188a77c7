//! Classes and Clusters that are wrong.

use simulation::lifecycles::play::Rules;

use super::{GOES, live};

const RECORDING: &str = include_str!("../../../data/lifecycles/class-errors.txt");
const MISSING: &str = include_str!("../../../data/lifecycles/class-missing.txt");

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
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    (
        "... annotation pending-hooks removed",
        "there, the annotation is lost and set again by two controllers; here, it goes once",
    ),
    ("1 Cluster ... TopologyReconciled=False ReconcileFailed: ...", "an error has words of its own"),
    (
        "1 Cluster ... Available=False NotAvailable: ...TopologyReconciled: ...",
        "an error has words of its own",
    ),
    (
        "1 ClusterClass ... RefVersionsUpToDate=Unknown InternalError: Please check controller logs for errors...",
        "here, the condition says which template is missing",
    ),
    (
        "Cluster demo TopologyReconciled=False ReconcileFailed",
        "here, the reason is ClusterClassNotReconciled",
    ),
    (
        "1 Cluster demo Available=True Available",
        "here, a class and its Clusters say at once that a template is gone",
    ),
    (
        "1 Cluster demo TopologyReconciled=True ReconcileSucceeded",
        "here, a class and its Clusters say at once that a template is gone",
    ),
    (
        "1 ClusterClass base RefVersionsUpToDate=True RefVersionsUpToDate",
        "here, a class and its Clusters say at once that a template is gone",
    ),
];
const UNFINISHED: &[(&str, &str)] = &[(
    "create a cluster of the class whose template is missing",
    "there, only the condition of the topology was written when the next step was taken",
)];
const MISSING_EXCEPTIONS: &[(&str, &str)] = &[
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
    ("...=Unknown AvailableUnknown", "here, the workers are known when the status is first written"),
    (
        "... annotation pending-hooks removed",
        "there, the annotation is lost and set again by two controllers; here, it goes once",
    ),
    ("1 Cluster ... TopologyReconciled=False ReconcileFailed: ...", "an error has words of its own"),
];

#[test]
fn errors_are_told_where_upstream_tells_them() {
    let orders = &[("delete the cluster demo", GOES)];
    live(RECORDING, Rules { orders, exceptions: EXCEPTIONS, unfinished: UNFINISHED });
}

#[test]
fn a_cluster_waits_for_its_class() {
    let orders = &[(
        "create the class",
        "ClusterClass not-there created
        KubeadmControlPlane orphan-$plane created
        Cluster orphan TopologyReconciled=True ReconcileSucceeded
        Machine orphan-$machine created",
    )];
    live(MISSING, Rules { orders, exceptions: MISSING_EXCEPTIONS, ..Rules::default() });
}
