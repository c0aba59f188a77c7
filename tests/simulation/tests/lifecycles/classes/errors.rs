//! Classes and Clusters that are wrong.

use simulation::lifecycles::play::Rules;

use super::{
    CONTROL_PLANE_WITHOUT_MACHINES, Exception, GOES, MISSING_TEMPLATE, PENDING_HOOKS, PROVISIONED,
    TOPOLOGY_ERROR, live,
};

const RECORDING: &str = include_str!("../../../data/lifecycles/class-errors.txt");
const MISSING: &str = include_str!("../../../data/lifecycles/class-missing.txt");

const EXCEPTIONS: &[Exception] = &[
    PROVISIONED,
    CONTROL_PLANE_WITHOUT_MACHINES,
    PENDING_HOOKS,
    TOPOLOGY_ERROR,
    (
        "1 Cluster ... Available=False NotAvailable: ...TopologyReconciled: ...",
        "an error has words of its own",
    ),
    MISSING_TEMPLATE,
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
const MISSING_EXCEPTIONS: &[Exception] = &[PENDING_HOOKS, TOPOLOGY_ERROR];

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
