//! Which Machines are unhealthy.

use super::*;

const HEALTHY: &str = "True HealthCheckSucceeded";

fn failed(reason: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("\n  * {line}")).collect();
    format!("False {reason}: Health check failed:{lines}")
}

#[test]
fn a_node_that_reports_a_bad_condition_for_too_long() {
    let not_ready =
        "Condition Ready on Node is reporting status False with reason KubeletNotReady for more than 10s";
    let unknown = node(&[condition("Ready", "Unknown", "NodeStatusUnknown", EARLY)]);
    let rows = [
        ("ready", ready(), HEALTHY.to_owned()),
        ("sick", sick(EARLY), failed("UnhealthyNode", &[not_ready])),
        ("not for long enough", sick("2026-11-21T00:59:54Z"), "- next 5".to_owned()),
        ("exactly the time-out", sick(RECENT), "- next 1".to_owned()),
        (
            "another status",
            unknown,
            failed(
                "UnhealthyNode",
                &[&not_ready.replace("False", "Unknown").replace("KubeletNotReady", "NodeStatusUnknown")],
            ),
        ),
        (
            "a condition that nobody asks for",
            node(&[condition("DiskPressure", "True", "x", EARLY)]),
            HEALTHY.to_owned(),
        ),
        (
            "deleted",
            MachineNode::Deleted("n".to_owned()),
            failed("NodeDeleted", &["Node n has been deleted"]),
        ),
    ];
    for (what, node, expected) in rows {
        let targets = vec![(machine("a", json!({})), node, Reference::None)];
        assert_eq!(outcome(&plan(&observed(check(ready_for_10_s()), targets))), expected, "{what}");
    }
}

#[test]
fn a_machine_that_gets_no_node() {
    let startup = |seconds: Value| json!({"checks": {"nodeStartupTimeoutSeconds": seconds}});
    let infrastructure =
        |status: &str, since: &str| with_conditions(&[condition("InfrastructureReady", status, "x", since)]);
    let late = |seconds: &str| {
        failed("NodeStartupTimeout", &[&format!("Node failed to report startup in {seconds}")])
    };
    let created = |at: &str| json!({"metadata": {"creationTimestamp": at}});
    let rows = [
        ("an hour", startup(json!(120)), json!({}), late("2m0s")),
        ("by default 10 minutes", json!({}), json!({}), late("10m0s")),
        ("a new Machine", startup(json!(120)), created(RECENT), "- next 111".to_owned()),
        (
            "since its infrastructure is there",
            startup(json!(120)),
            infrastructure("True", RECENT),
            "- next 111".to_owned(),
        ),
        (
            "while its infrastructure is not there",
            startup(json!(120)),
            infrastructure("False", RECENT),
            late("2m0s"),
        ),
        ("never", startup(json!(0)), json!({}), "-".to_owned()),
    ];
    for (what, spec, more, expected) in rows {
        let targets = vec![(machine("a", more), MachineNode::None, Reference::None)];
        assert_eq!(outcome(&plan(&observed(check(spec), targets))), expected, "{what}");
    }
}

#[test]
fn the_condition_of_a_machine_wins_and_all_failures_are_listed() {
    let mut spec = ready_for_10_s();
    spec["checks"]["unhealthyMachineConditions"] =
        json!([{"type": "EtcdPodHealthy", "status": "False", "timeoutSeconds": 300}]);
    let etcd = |since: &str| with_conditions(&[condition("EtcdPodHealthy", "False", "PodFailed", since)]);
    let line = "Condition EtcdPodHealthy on Machine is reporting status False with reason PodFailed for more than 5m0s";
    let not_ready =
        "Condition Ready on Node is reporting status False with reason KubeletNotReady for more than 10s";
    let both = |node: &str| failed("UnhealthyMachine", &[node, line]);
    let rows = [
        ("machine", etcd(EARLY), ready(), failed("UnhealthyMachine", &[line])),
        ("machine and node", etcd(EARLY), sick(EARLY), both(not_ready)),
        (
            "machine, node deleted",
            etcd(EARLY),
            MachineNode::Deleted("n".to_owned()),
            both("Node n has been deleted"),
        ),
        ("machine without a node", etcd(EARLY), MachineNode::None, failed("UnhealthyMachine", &[line])),
        ("not for long enough", etcd(RECENT), ready(), "- next 291".to_owned()),
        ("the earlier of two", etcd(RECENT), sick(RECENT), "- next 1".to_owned()),
        (
            "a failure does not wait for the other",
            etcd(RECENT),
            sick(EARLY),
            failed("UnhealthyNode", &[not_ready]),
        ),
    ];
    for (what, more, node, expected) in rows {
        let targets = vec![(machine("a", more), node, Reference::None)];
        assert_eq!(outcome(&plan(&observed(check(spec.clone()), targets))), expected, "{what}");
    }
}

#[test]
fn who_is_not_judged() {
    let annotated = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
    let deleting = json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}});
    let plane = json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}});
    let without = |type_: &str| {
        let mut cluster = cluster();
        let conditions = cluster["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|condition| condition["type"] != type_);
        cluster
    };
    let sick_line = failed(
        "UnhealthyNode",
        &["Condition Ready on Node is reporting status False with reason KubeletNotReady for more than 10s"],
    );
    let no_node = failed("NodeStartupTimeout", &["Node failed to report startup in 2m0s"]);
    let marked = "False HasRemediateAnnotation: Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation".to_owned();
    let none = || MachineNode::None;
    // What, the Machine, its Node, the Cluster, the condition, the number of watched and of healthy Machines.
    let rows = [
        ("paused", annotated("cluster.x-k8s.io/paused"), sick(EARLY), cluster(), "-".to_owned(), (0, 0)),
        (
            "skipped",
            annotated("cluster.x-k8s.io/skip-remediation"),
            sick(EARLY),
            cluster(),
            "-".to_owned(),
            (0, 0),
        ),
        (
            "asked for",
            annotated("cluster.x-k8s.io/remediate-machine"),
            ready(),
            cluster(),
            marked.clone(),
            (1, 0),
        ),
        (
            "asked for before the cluster is there",
            annotated("cluster.x-k8s.io/remediate-machine"),
            none(),
            without("InfrastructureReady"),
            marked,
            (1, 0),
        ),
        (
            "a worker before its control plane",
            json!({}),
            none(),
            without("ControlPlaneInitialized"),
            "-".to_owned(),
            (1, 0),
        ),
        ("a control plane machine", plane, none(), without("ControlPlaneInitialized"), no_node, (1, 0)),
        (
            "without infrastructure",
            json!({}),
            sick(EARLY),
            without("InfrastructureReady"),
            HEALTHY.to_owned(),
            (1, 1),
        ),
        ("deleting and healthy", deleting.clone(), ready(), cluster(), "-".to_owned(), (1, 0)),
        ("deleting and sick", deleting, sick(EARLY), cluster(), sick_line, (1, 0)),
    ];
    for (what, more, node, cluster, expected, counts) in rows {
        let targets = vec![(machine("a", more), node, Reference::None)];
        let mut observed = observed(check(ready_for_10_s()), targets);
        observed.cluster = parse(&cluster);
        let plan = plan(&observed);
        assert_eq!(outcome(&plan), expected, "{what}");
        let status = plan.check.status.unwrap();
        assert_eq!(
            (status.expected_machines, status.current_healthy),
            (Some(counts.0), Some(counts.1)),
            "{what}"
        );
    }
}

#[test]
fn nothing_is_judged_while_the_nodes_are_out_of_reach() {
    let observed = Observed { targets: None, ..observed(check(ready_for_10_s()), Vec::new()) };
    let plan = plan(&observed);
    assert!(plan.marks.is_empty() && plan.check.condition("RemediationAllowed").is_none());
    let meta = &plan.check.metadata;
    assert_eq!(meta.labels.as_ref().unwrap()["cluster.x-k8s.io/cluster-name"], "plain");
    let owner = &meta.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str(), owner.controller), ("Cluster", "c", None));
}
