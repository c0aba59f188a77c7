//! The condition `TopologyReconciled` and the plan of an upgrade in the status. The messages are those that upstream's controller wrote
//! (class-upgrade-chained and class-upgrade-concurrency of the recordings).

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::DateTime;
use cluster_topology::cluster::Blocked;
use cluster_topology::cluster::plan::Decision;
use cluster_topology::cluster::status::{Report, set};
use cluster_topology::versions::{UpgradePlan, Versions};
use schemas::HasConditions;
use schemas::cluster::Cluster;
use serde_json::json;

fn cluster(version: &str) -> Cluster {
    serde_json::from_value(json!({"metadata": {"name": "demo"}, "spec": {"topology": {"version": version}}}))
        .unwrap()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn plan(control_plane: &[&str], workers: &[&str]) -> UpgradePlan {
    let list = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
    UpgradePlan { control_plane: list(control_plane), workers: list(workers) }
}

/// Returns status, reason and message.
fn condition(version: &str, report: &Report) -> (String, String, String) {
    let mut cluster = cluster(version);
    set(&mut cluster, report, None, DateTime::UNIX_EPOCH);
    let condition = cluster.condition("TopologyReconciled").unwrap();
    (condition.status.clone(), condition.reason.clone(), condition.message.clone())
}

fn upgrade(
    version: &str,
    plan: UpgradePlan,
    change: impl Fn(&mut Versions),
    blocked: Vec<Blocked>,
) -> (String, String) {
    let mut versions = Versions::default();
    change(&mut versions);
    let decision = Decision { plan, versions };
    let control_plane = "KubeadmControlPlane".to_owned();
    let report = Report::Reconciled { decision, blocked, control_plane, is_hook_pending: false };
    let (_, reason, message) = condition(version, &report);
    (reason, message)
}

fn blocked() -> Blocked {
    Blocked {
        hook: "BeforeClusterUpgrade".to_owned(),
        message: "not today".to_owned(),
        retry_after: Duration::from_secs(5),
    }
}

#[test]
fn what_a_reconcile_came_to() {
    let at_rest = Report::Reconciled {
        decision: Decision::default(),
        blocked: Vec::new(),
        control_plane: "KubeadmControlPlane".to_owned(),
        is_hook_pending: false,
    };
    let cases = [
        (Report::Paused(vec!["a".to_owned(), "b".to_owned()]), "False", "Paused", "a, b"),
        (Report::Failed("no".to_owned()), "False", "ReconcileFailed", "no"),
        (Report::Deleting(vec![]), "False", "Deleting", "Cluster is deleting"),
        (
            Report::Deleting(vec![blocked()]),
            "False",
            "Deleting",
            "Cluster is deleting. Following hooks are blocking delete: BeforeClusterUpgrade: not today",
        ),
        (Report::ClassNotReconciled("later".to_owned()), "False", "ClusterClassNotReconciled", "later"),
        (
            Report::Creating(vec![blocked()]),
            "False",
            "ClusterCreating",
            "Following hooks are blocking Cluster topology creation: BeforeClusterUpgrade: not today",
        ),
        (at_rest, "True", "ReconcileSucceeded", ""),
    ];
    for (report, status, reason, message) in cases {
        let expected = (status.to_owned(), reason.to_owned(), message.to_owned());
        assert_eq!(condition("v1.35.0", &report), expected);
    }
}

#[test]
fn an_upgrade_says_what_it_waits_for() {
    let start = |versions: &mut Versions| {
        versions.control_plane.is_starting = true;
        "v1.34.2".clone_into(&mut versions.control_plane.version);
        versions.machine_deployments.pending_upgrade = names(&["demo-md-0-469z7", "demo-md-1-lwks8"]);
        versions.machine_deployments.deferred = names(&["demo-md-1-lwks8"]);
    };
    let found = upgrade("v1.35.0", plan(&["v1.34.2", "v1.35.0"], &["v1.35.0"]), start, vec![]);
    let text = "Cluster is upgrading to v1.35.0\n  * KubeadmControlPlane upgrading to version v1.34.2 (v1.35.0 pending)\n  \
        * MachineDeployment demo-md-0-469z7 pending upgrade to version v1.35.0\n  \
        * MachineDeployment demo-md-1-lwks8 upgrade to version v1.34.2 deferred using defer-upgrade or hold-upgrade-sequence annotations";
    assert_eq!(found, ("ClusterUpgrading".to_owned(), text.to_owned()));

    let workers = |versions: &mut Versions| {
        versions.control_plane.is_pending = true;
        versions.control_plane.is_waiting_for_workers = true;
        "v1.35.0".clone_into(&mut versions.control_plane.version);
        versions.machine_deployments.upgrading = names(&["demo-md-0-rcblm"]);
        versions.machine_deployments.pending_upgrade = names(&["demo-md-1-b2q66"]);
    };
    let found = upgrade("v1.36.0", plan(&["v1.36.0"], &["v1.35.0", "v1.36.0"]), workers, vec![]);
    let text = "Cluster is upgrading to v1.36.0\n  * KubeadmControlPlane pending upgrade to version v1.36.0\n  \
        * MachineDeployment demo-md-0-rcblm upgrading to version v1.35.0 (v1.36.0 pending)\n  \
        * MachineDeployment demo-md-1-b2q66 pending upgrade to version v1.35.0, v1.36.0";
    assert_eq!(found, ("ClusterUpgrading".to_owned(), text.to_owned()));
}

#[test]
fn only_a_deferred_upgrade_has_a_reason_of_its_own() {
    let deferred = |versions: &mut Versions| {
        "v1.35.0".clone_into(&mut versions.control_plane.version);
        versions.machine_deployments.pending_upgrade = names(&["md"]);
        versions.machine_deployments.deferred = names(&["md"]);
    };
    let text = "Cluster is upgrading to v1.35.0\n  * MachineDeployment md upgrade to version v1.35.0 deferred using defer-upgrade or hold-upgrade-sequence annotations";
    let found = upgrade("v1.35.0", plan(&[], &["v1.35.0"]), deferred, vec![]);
    assert_eq!(found, ("MachineDeploymentsUpgradeDeferred".to_owned(), text.to_owned()));
    let (reason, message) = upgrade("v1.35.0", plan(&[], &["v1.35.0"]), deferred, vec![blocked()]);
    assert_eq!(reason, "ClusterUpgrading", "an extension counts first");
    assert!(
        message.contains("\n  * Following hooks are blocking upgrade: BeforeClusterUpgrade: not today"),
        "{message}"
    );
    let pools = |versions: &mut Versions| {
        versions.machine_pools.pending_upgrade = names(&["mp"]);
        versions.machine_pools.deferred = names(&["mp"]);
    };
    assert_eq!(upgrade("v1.35.0", plan(&[], &["v1.35.0"]), pools, vec![]).0, "MachinePoolsUpgradeDeferred");
}

#[test]
fn many_names_are_shortened() {
    let many = |versions: &mut Versions| {
        versions.machine_deployments.pending_create = names(&["a", "b", "c", "d", "e"]);
    };
    let (_, message) = upgrade("v1.35.0", UpgradePlan::default(), many, vec![]);
    let expected = "Cluster is upgrading to v1.35.0\n  * MachineDeployments a, b, c, ... (2 more) creation deferred while control plane upgrade is in progress";
    assert_eq!(message, expected);
}

#[test]
fn the_plan_is_in_the_status() {
    let mut cluster = cluster("v1.36.0");
    let report = Report::Failed("later".to_owned());
    set(&mut cluster, &report, Some(&UpgradePlan::default()), DateTime::UNIX_EPOCH);
    assert_eq!(
        cluster.status.as_ref().unwrap().workers,
        None,
        "without a plan, the counters decide about the field"
    );
    set(&mut cluster, &report, Some(&plan(&["v1.35.0", "v1.36.0"], &["v1.36.0"])), DateTime::UNIX_EPOCH);
    let status = serde_json::to_value(cluster.status.as_ref().unwrap()).unwrap();
    let steps = json!([{"version": "v1.35.0"}, {"version": "v1.36.0"}]);
    assert_eq!(status["controlPlane"]["upgradePlan"], steps);
    set(&mut cluster, &report, None, DateTime::UNIX_EPOCH);
    assert_eq!(
        serde_json::to_value(cluster.status.as_ref().unwrap()).unwrap()["controlPlane"]["upgradePlan"],
        steps
    );
    set(&mut cluster, &report, Some(&UpgradePlan::default()), DateTime::UNIX_EPOCH);
    assert!(cluster.status.unwrap().control_plane.unwrap().upgrade_plan.is_empty());
}
