//! A MachineDeployment leaves a topology, another one comes, and all of it is deleted.

use simulation::lifecycles::play::Rules;

use super::{Exception, GOES, PENDING_HOOKS, live};

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
const EXCEPTIONS: &[Exception] = &[PENDING_HOOKS];

#[test]
fn parts_of_a_topology_are_deleted() {
    live(RECORDING, Rules { orders: ORDERS, exceptions: EXCEPTIONS, ..Rules::default() });
}
