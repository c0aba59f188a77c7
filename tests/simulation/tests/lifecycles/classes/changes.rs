//! A class changes, and a Cluster of it.

use simulation::lifecycles::play::Rules;

use super::{
    CONTROL_PLANE_WITHOUT_MACHINES, Exception, GOES, PENDING_HOOKS, PROVISIONED, READY_UNKNOWN, WORKERS, live,
};

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
const EXCEPTIONS: &[Exception] = &[
    PROVISIONED,
    CONTROL_PLANE_WITHOUT_MACHINES,
    READY_UNKNOWN,
    PENDING_HOOKS,
    (
        "Cluster demo TopologyReconciled=False ReconcileFailed",
        "there, a Cluster fails until its class was looked at again; here, a class is looked at first",
    ),
    (
        "1 MachineHealthCheck ... expectedMachines=...",
        "there, a health check does not see that a Machine is gone",
    ),
];

#[test]
fn a_class_is_changed() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
