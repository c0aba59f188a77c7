//! Upgrades over several minor versions.

use simulation::lifecycles::play::Rules;

use super::{
    CONTROL_PLANE_WITHOUT_MACHINES, Exception, GOES, PENDING_HOOKS, PROVISIONED, READY_UNKNOWN, live,
};

const CHAINED: &str = include_str!("../../../data/lifecycles/class-upgrade-chained.txt");
const CONCURRENCY: &str = include_str!("../../../data/lifecycles/class-upgrade-concurrency.txt");

const CHAINED_ORDERS: &[(&str, &str)] = &[
    (
        "topology: version v1.35.0",
        "Cluster demo annotation pending-hooks=AfterClusterUpgrade
        KubeadmControlPlane demo-$plane version=v1.34.2
        Machine demo-$a version=v1.34.2
        Machine demo-$old deletionTimestamp=set
        Machine demo-$old gone
        KubeadmControlPlane demo-$plane version=v1.35.0
        Machine demo-$b version=v1.35.0
        Machine demo-$a gone
        MachineDeployment demo-md-0-$workers version=v1.35.0
        MachineSet $set created
        Machine demo-md-0-$new created
        Machine demo-md-0-$x gone
        Cluster demo TopologyReconciled=False MachineDeploymentsUpgradeDeferred",
    ),
    (
        "topology: remove the annotation hold-upgrade-sequence",
        "MachineDeployment demo-md-1-$workers version=v1.35.0
        Machine demo-md-1-$new created
        Machine demo-md-1-$old gone
        Cluster demo TopologyReconciled=True ReconcileSucceeded",
    ),
    (
        "topology: version v1.36.0",
        "KubeadmControlPlane demo-$plane version=v1.36.0
        Machine demo-$old gone
        MachineDeployment demo-md-1-$workers version=v1.36.0
        Cluster demo TopologyReconciled=False MachineDeploymentsUpgradeDeferred",
    ),
    (
        "topology: remove the annotation defer-upgrade",
        "MachineDeployment demo-md-0-$workers version=v1.36.0
        Machine demo-md-0-$old gone
        Cluster demo TopologyReconciled=True ReconcileSucceeded",
    ),
    ("delete the cluster", GOES),
];
/// Workers are at most three minor versions behind, and one MachineDeployment is upgraded after the other.
const CONCURRENCY_ORDERS: &[(&str, &str)] = &[
    (
        "topology: version v1.36.0",
        "KubeadmControlPlane demo-$plane version=v1.33.0
        KubeadmControlPlane demo-$plane version=v1.34.0
        KubeadmControlPlane demo-$plane version=v1.35.0
        MachineDeployment demo-md-0-$first version=v1.35.0
        Machine demo-md-0-$a gone
        MachineDeployment demo-md-1-$second version=v1.35.0
        Machine demo-md-1-$x gone
        KubeadmControlPlane demo-$plane version=v1.36.0
        MachineDeployment demo-md-0-$first version=v1.36.0
        Machine demo-md-0-$b gone
        MachineDeployment demo-md-1-$second version=v1.36.0
        Machine demo-md-1-$y gone
        Cluster demo TopologyReconciled=True ReconcileSucceeded",
    ),
    ("delete the cluster", GOES),
];
const CHAINED_EXCEPTIONS: &[Exception] =
    &[PROVISIONED, CONTROL_PLANE_WITHOUT_MACHINES, READY_UNKNOWN, PENDING_HOOKS];
const CONCURRENCY_EXCEPTIONS: &[Exception] = &[
    PROVISIONED,
    CONTROL_PLANE_WITHOUT_MACHINES,
    READY_UNKNOWN,
    PENDING_HOOKS,
    ("MachineSet ... Deleting=True Deleting", "here, a MachineSet without Machines is gone at once"),
];

#[test]
fn an_upgrade_is_held_and_deferred() {
    let (orders, exceptions) = (CHAINED_ORDERS, CHAINED_EXCEPTIONS);
    live(CHAINED, Rules { orders, exceptions, ..Rules::default() });
}

#[test]
fn one_machine_deployment_is_upgraded_at_a_time() {
    let (orders, exceptions) = (CONCURRENCY_ORDERS, CONCURRENCY_EXCEPTIONS);
    live(CONCURRENCY, Rules { orders, exceptions, ..Rules::default() });
}
