//! Which Pods a drain evicts, which it waits for, and what its condition says.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::Duration;
use cluster_core::machine::{self, LastEviction, NodePods, OnDemand};
use engine::NamespacedName;
use schemas::HasConditions;
use schemas::cluster::MachineDrainRule;
use serde_json::{Value, json};

use super::{deleting_machine, now, pods, read};

/// Returns a Pod with a controller, in namespace `n`; `more` is merged into it.
pub fn pod(name: &str, mut more: Value) -> Value {
    let mut pod =
        json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": [owner("ReplicaSet")]}});
    if let Some(metadata) = more.as_object_mut().and_then(|more| more.remove("metadata")) {
        pod["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    }
    pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pod
}

fn owner(kind: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "1", "controller": true})
}

pub fn label(value: &str) -> Value {
    json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": value}}})
}

fn rule(name: &str, spec: Value) -> Arc<MachineDrainRule> {
    read(json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec}))
}

/// Returns a Machine whose Node has these Pods.
pub fn with(list: Vec<Value>) -> machine::Observed {
    machine::Observed { pods: pods(list), ..deleting_machine(json!({})) }
}

/// Plans the drain; returns the evicted Pods and the lines of the condition after the first.
fn drain(observed: &machine::Observed) -> (Vec<String>, Vec<String>) {
    let plan = machine::plan(observed);
    assert!(plan.errors.is_empty(), "{:?}", plan.errors);
    let condition = plan.machine.condition("Deleting").unwrap();
    if condition.reason != "DrainingNode" {
        assert!(plan.evict.is_empty());
        return (Vec::new(), vec![condition.reason.clone()]);
    }
    let mut lines: Vec<String> = condition.message.split('\n').map(str::to_owned).collect();
    assert_eq!(lines.remove(0), "Drain not completed yet (started at 2026-11-21T00:00:00Z):");
    (plan.evict.iter().map(|eviction| eviction.pod.name.clone()).collect(), lines)
}

pub const DONE: &str = "WaitingForInfrastructureDeletion";

/// Each row is a Pod, and whether it is evicted (`evict`), waited for (`wait`) or left alone (`skip`).
#[test]
fn filters_decide_in_their_order() {
    let daemon = |more: Value| {
        let mut pod = pod("p", more);
        pod["metadata"]["ownerReferences"] = json!([owner("DaemonSet")]);
        pod
    };
    let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "x"}});
    let bare =
        json!({"metadata": {"ownerReferences": []}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let finished = json!({"status": {"phase": "Succeeded"}});
    let finished_label = json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "wait-completed"}},
        "status": {"phase": "Failed"}});
    let rows = [
        ("replicated", pod("p", json!({})), "evict"),
        ("neither controller nor storage that stays", pod("p", bare), "evict"),
        ("DaemonSet", daemon(json!({})), "skip"),
        ("finished, of a DaemonSet", daemon(finished.clone()), "evict"),
        ("DaemonSet before the label", daemon(label("wait-completed")), "skip"),
        ("mirror", pod("p", json!({"metadata": mirror})), "skip"),
        ("finished", pod("p", finished), "evict"),
        ("label", pod("p", label("Skip")), "skip"),
        ("label", pod("p", label("waitCompleted")), "wait"),
        ("label", pod("p", label("Wait-Completed")), "wait"),
        ("only the first dash is left out", pod("p", label("wait-complete-d")), "evict"),
        ("completed", pod("p", finished_label), "skip"),
    ];
    for (what, pod, expected) in rows {
        let (evicted, lines) = drain(&with(vec![pod]));
        let found = match (evicted.len(), lines[0].as_str()) {
            (1, "* Pod n/p: eviction requested") => "evict",
            (0, "* Pod n/p: waiting for completion") => "wait",
            (0, DONE) => "skip",
            _ => panic!("{what}: {evicted:?} {lines:?}"),
        };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn pods_that_cannot_be_replaced_go_with_a_warning() {
    let set = NamespacedName::new("n", "x");
    let mut orphan = pod("orphan", json!({}));
    orphan["metadata"]["ownerReferences"] = json!([owner("DaemonSet")]);
    let bare =
        json!({"metadata": {"ownerReferences": []}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let list = vec![pod("bare", bare), orphan];
    let mut observed = with(list);
    if let OnDemand::Found(on_node) = &mut observed.pods {
        on_node.missing_daemon_sets.insert(set);
    }
    let plan = machine::plan(&observed);
    let warnings: Vec<usize> = plan.evict.iter().map(|eviction| eviction.warnings.len()).collect();
    assert_eq!(warnings, [2, 1], "{:?}", plan.evict);
}

/// The rules of the Machine's namespace, sorted by name: the first that fits counts, after the Pod's label.
#[test]
fn drain_rules_select_machines_clusters_pods_and_namespaces() {
    let app = |value: &str| json!({"matchLabels": {"app": value}});
    let skip = |mut more: Value| {
        more["drain"] = json!({"behavior": "Skip"});
        more
    };
    let both = |machine: &str, cluster: &str| {
        skip(
            json!({"machines": [{"selector": app("other")}, {"selector": app(machine), "clusterSelector": app(cluster)}]}),
        )
    };
    let of_pods = |pod: &str, namespace: &str| {
        skip(json!({"pods": [{"selector": app(pod), "namespaceSelector": app(namespace)}]}))
    };
    let drain_first = rule("a", json!({"drain": {"behavior": "Drain"}, "pods": [{"selector": app("pod")}]}));
    let unset = skip(json!({"machines": [{"selector": {}}], "pods": [{"namespaceSelector": {}}]}));
    let rows = [
        ("no rule", vec![], false),
        ("everything", vec![rule("r", skip(json!({})))], true),
        ("empty selectors fit everything", vec![rule("r", unset)], true),
        ("Machine and Cluster", vec![rule("r", both("machine", "cluster"))], true),
        ("another Machine", vec![rule("r", both("none", "cluster"))], false),
        ("another Cluster", vec![rule("r", both("machine", "none"))], false),
        ("Pod and namespace", vec![rule("r", of_pods("pod", "namespace"))], true),
        ("another Pod", vec![rule("r", of_pods("none", "namespace"))], false),
        ("another namespace", vec![rule("r", of_pods("pod", "none"))], false),
        ("the first by name counts", vec![rule("b", skip(json!({}))), drain_first.clone()], false),
        (
            "one that does not fit is passed over",
            vec![rule("a", of_pods("none", "x")), rule("b", skip(json!({})))],
            true,
        ),
    ];
    let labels = |value: &str| BTreeMap::from([("app".to_owned(), value.to_owned())]);
    for (what, drain_rules, skipped) in rows {
        let mut observed = with(vec![pod("p", json!({"metadata": {"labels": {"app": "pod"}}}))]);
        Arc::make_mut(&mut observed.machine).metadata.labels = Some(labels("machine"));
        Arc::make_mut(&mut observed.cluster).metadata.labels = Some(labels("cluster"));
        if let OnDemand::Found(NodePods { namespaces, .. }) = &mut observed.pods {
            namespaces.insert("n".to_owned(), labels("namespace"));
        }
        observed.drain_rules = drain_rules;
        let (evicted, _) = drain(&observed);
        assert_eq!(evicted.is_empty(), skipped, "{what}");
    }
    let wrong = rule(
        "bad",
        json!({"drain": {"behavior": "Drain"}, "machines": [
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}]}),
    );
    let observed = machine::Observed { drain_rules: vec![wrong], ..with(vec![pod("p", json!({}))]) };
    let (evicted, lines) = drain(&observed);
    assert!(
        evicted.is_empty()
            && lines[0].starts_with("* MachineDrainRule default/bad: spec.machines[0].selector: ")
    );
}

/// As recorded from Cluster API 1.14: only the lowest order that is left is evicted or waited for.
#[test]
fn orders_go_one_after_the_other() {
    let order = |name: &str, order: i32| {
        let selector = json!({"matchLabels": {"app": name}});
        rule(name, json!({"drain": {"behavior": "Drain", "order": order}, "pods": [{"selector": selector}]}))
    };
    let with_label = |name: &str, more: Value| {
        let mut pod = pod(name, more);
        pod["metadata"]["labels"]["app"] = name.into();
        pod
    };
    let rules = || vec![order("late", 5), order("soon", -1)];
    let plain = |name: &str| with_label(name, json!({}));
    let gone = json!({"metadata": {"deletionTimestamp": "2026-11-20T23:59:50Z"}});
    let rows = [
        (
            vec![
                with_label("early", gone.clone()),
                plain("late"),
                with_label("wait", label("wait-completed")),
            ],
            vec![],
            vec![
                "* Pod n/early: deletionTimestamp set, but still not removed from the Node",
                "* Pod n/wait: waiting for completion",
                "After above Pods have been removed from the Node, the following Pods will be evicted: n/late",
            ],
        ),
        (
            vec![plain("late"), with_label("soon", gone), with_label("wait", label("wait-completed"))],
            vec![],
            vec![
                "* Pod n/soon: deletionTimestamp set, but still not removed from the Node",
                "After above Pods have been removed from the Node, the following Pods will be evicted: n/late",
                "After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: n/wait",
            ],
        ),
        (vec![plain("late")], vec!["late"], vec!["* Pod n/late: eviction requested"]),
    ];
    for (list, evicted, lines) in rows {
        let found = drain(&machine::Observed { drain_rules: rules(), ..with(list) });
        assert_eq!(found.0, evicted);
        assert_eq!(found.1, lines);
    }
}

/// Refused evictions are tried again after 20 s, after those that were not tried yet.
#[test]
fn the_outcomes_of_the_last_evictions_count() {
    let last = |seconds: i64, refused: Option<&str>| LastEviction {
        at: now() - Duration::seconds(seconds),
        refused: refused.map(str::to_owned),
    };
    let budget = "cannot evict pod as it would violate the pod's disruption budget.";
    let mut observed = with(["a", "b", "c", "d"].map(|name| pod(name, json!({}))).into());
    let outcomes = [("a", last(20, Some(budget))), ("b", last(19, Some(budget))), ("c", last(1, None))];
    observed.evictions =
        outcomes.into_iter().map(|(name, last)| (NamespacedName::new("n", name), last)).collect();
    let (evicted, lines) = drain(&observed);
    assert_eq!(evicted, ["d", "a"]);
    assert_eq!(
        lines,
        [
            "* Pod n/c: deletionTimestamp set, but still not removed from the Node".to_owned(),
            format!("* Pods n/a, n/b: {budget}"),
            "* Pod n/d: eviction requested".to_owned(),
        ]
    );
    let plan = machine::plan(&observed);
    assert_eq!(plan.action.requeue_after, Some(std::time::Duration::from_secs(20)));
}

#[test]
fn lists_are_short() {
    let names: Vec<String> = (0..9).map(|number| format!("p{number}")).collect();
    let mut observed = with(names.iter().map(|name| pod(name, json!({}))).collect());
    let (_, lines) = drain(&observed);
    assert_eq!(lines, ["* Pods n/p0, n/p1, n/p2, ... (6 more): eviction requested"]);
    for name in &names[1..] {
        let refused = Some(format!("failed to evict Pod, {name}"));
        observed
            .evictions
            .insert(NamespacedName::new("n", name.as_str()), LastEviction { at: now(), refused });
    }
    let (_, lines) = drain(&observed);
    assert_eq!(lines.len(), 7, "{lines:?}");
    assert_eq!(lines[0], "* Pod n/p1: failed to evict Pod, p1");
    assert_eq!(&lines[5..], ["* Pod n/p0: eviction requested", "* 3 Pods with other issues"]);
}
