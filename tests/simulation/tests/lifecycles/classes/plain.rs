//! A Cluster of a class comes, is scaled and upgraded, and goes.

use simulation::lifecycles::play::Rules;

use super::{CONTROL_PLANE_WITHOUT_MACHINES, Exception, GOES, PROVISIONED, READY_UNKNOWN, live};

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
const EXCEPTIONS: &[Exception] = &[
    PROVISIONED,
    CONTROL_PLANE_WITHOUT_MACHINES,
    READY_UNKNOWN,
    ("1 ClusterClass in-memory ...", "there, the class was not recorded"),
];

#[test]
fn a_cluster_of_a_class_is_scaled_and_upgraded() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
