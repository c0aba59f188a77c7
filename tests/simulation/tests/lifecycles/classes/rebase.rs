//! A Cluster gets another class.

use simulation::lifecycles::play::Rules;

use super::{Exception, GOES, MISSING_TEMPLATE, PENDING_HOOKS, PROVISIONED, live};

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
const EXCEPTIONS: &[Exception] = &[
    PROVISIONED,
    PENDING_HOOKS,
    MISSING_TEMPLATE,
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
