//! The rules of MachineHealthChecks: which Machines are unhealthy, and what is done about them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cluster_core::Reference;
use cluster_core::machine_health_check::{MachineNode, Observed, Plan, Target, plan};
use engine::ExternalObject;
use kube::core::ApiResource;
use schemas::{FromJson, HasConditions};
use serde_json::{Value, json};

const EARLY: &str = "2026-11-21T00:00:00Z";
const RECENT: &str = "2026-11-21T00:59:50Z";
const NOW: &str = "2026-11-21T01:00:00Z";

fn parse<T: FromJson>(value: &Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

fn time(text: &str) -> DateTime<Utc> {
    machinery::clock::parse_rfc3339(text).unwrap()
}

fn condition(type_: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": since})
}

fn check(spec: Value) -> Value {
    let mut check = json!({
        "metadata": {"name": "workers", "namespace": "default", "generation": 3},
        "spec": {"clusterName": "plain", "selector": {"matchLabels": {"pool": "md"}}},
    });
    json_patch(&mut check["spec"], spec);
    check
}

fn cluster() -> Value {
    json!({
        "metadata": {"name": "plain", "namespace": "default", "uid": "c"},
        "status": {"conditions": [condition("ControlPlaneInitialized", "True", "x", EARLY),
            condition("InfrastructureReady", "True", "x", EARLY)]},
    })
}

fn machine(name: &str, more: Value) -> Value {
    let mut machine = json!({
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": EARLY},
        "spec": {"clusterName": "plain"},
    });
    json_patch(&mut machine, more);
    machine
}

fn with_conditions(conditions: &[Value]) -> Value {
    json!({"status": {"conditions": conditions}})
}

/// A merge patch: objects are merged, anything else is replaced.
fn json_patch(value: &mut Value, patch: Value) {
    match (value, patch) {
        (Value::Object(value), Value::Object(patch)) => {
            for (key, patch) in patch {
                json_patch(value.entry(key).or_insert(Value::Null), patch);
            }
        }
        (value, patch) => *value = patch,
    }
}

fn node(conditions: &[Value]) -> MachineNode {
    MachineNode::Found(parse_node(conditions))
}

fn parse_node(conditions: &[Value]) -> Arc<k8s_openapi::api::core::v1::Node> {
    let node = json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}});
    Arc::new(serde_json::from_value(node).unwrap())
}

fn ready() -> MachineNode {
    node(&[condition("Ready", "True", "KubeletReady", EARLY)])
}

fn sick(since: &str) -> MachineNode {
    node(&[condition("Ready", "False", "KubeletNotReady", since)])
}

fn observed(check: Value, targets: Vec<(Value, MachineNode, Reference)>) -> Observed {
    let targets = targets.into_iter();
    let targets =
        targets.map(|(machine, node, request)| Target { machine: parse(&machine), node, request }).collect();
    Observed {
        check: parse(&check),
        cluster: parse(&cluster()),
        targets: Some(targets),
        template: Reference::None,
        now: time(NOW),
    }
}

/// The condition of the first Machine that changes, and the time of the next look.
fn outcome(plan: &Plan) -> String {
    let found = plan.marks.first().and_then(|mark| mark.wanted.condition("HealthCheckSucceeded"));
    let found = found.map(|found| match found.message.as_str() {
        "" => format!("{} {}", found.status, found.reason),
        message => format!("{} {}: {}", found.status, found.reason, message),
    });
    match plan.action.requeue_after {
        Some(delay) => format!("{} next {}", found.unwrap_or("-".to_owned()), delay.as_secs()),
        None => found.unwrap_or("-".to_owned()),
    }
}

fn ready_for_10_s() -> Value {
    let check = |status: &str| json!({"type": "Ready", "status": status, "timeoutSeconds": 10});
    json!({"checks": {"unhealthyNodeConditions": [check("False"), check("Unknown")], "nodeStartupTimeoutSeconds": 120}})
}

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

/// Three of five Machines are sick, one of these is not yet old enough to be judged.
fn five(spec: Value) -> Observed {
    let mut all = ready_for_10_s();
    json_patch(&mut all, spec);
    let nodes = [sick(EARLY), sick(EARLY), sick(RECENT), ready(), ready()];
    let names = ["e", "d", "c", "b", "a"];
    let targets = names.into_iter().zip(nodes);
    let targets = targets.map(|(name, node)| (machine(name, json!({})), node, Reference::None));
    observed(check(all), targets.collect())
}

#[test]
fn too_many_unhealthy_machines_are_left_alone() {
    let limit = |limit: &str| json!({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": limit}}});
    let observed = five(limit("40%"));
    let first = plan(&observed);
    let message = "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 5, unhealthy: 2, maxUnhealthy: 40%)";
    let allowed = first.check.condition("RemediationAllowed").unwrap();
    assert_eq!(
        (allowed.status.as_str(), allowed.reason.as_str(), allowed.message.as_str()),
        ("False", "TooManyUnhealthy", message)
    );
    let events: Vec<(bool, &str, &str)> =
        first.events.iter().map(|event| (event.warning, event.reason, event.message.as_str())).collect();
    assert_eq!(events, [(true, "RemediationRestricted", message)]);
    let status = first.check.status.clone().unwrap();
    assert_eq!(status.targets, ["a", "b", "c", "d", "e"]);
    assert_eq!(
        (status.expected_machines, status.current_healthy, status.remediations_allowed),
        (Some(5), Some(2), Some(0))
    );
    assert_eq!(status.observed_generation, Some(3));
    assert_eq!(first.marks.len(), 4, "health is told anyway");
    assert!(
        first.marks.iter().all(|mark| mark.wanted.condition("OwnerRemediated").is_none() && !mark.is_new)
    );
    assert_eq!(first.action.requeue_after, Some(Duration::from_secs(1)));

    let again = plan(&Observed { check: Arc::new(first.check), ..observed });
    assert!(again.events.is_empty(), "the event comes once");

    let plan = plan(&five(limit("60%")));
    assert_eq!(plan.check.condition("RemediationAllowed").unwrap().status, "True");
    assert_eq!(plan.check.status.unwrap().remediations_allowed, Some(0));
    assert!(plan.events.is_empty());
    let marked = plan.marks.iter().filter(|mark| mark.wanted.condition("OwnerRemediated").is_some());
    assert_eq!(marked.map(|mark| mark.wanted.metadata.name.clone().unwrap()).collect::<Vec<_>>(), ["e", "d"]);
}

#[test]
fn a_range_decides_and_a_wrong_one_is_told() {
    let range = |range: &str| json!({"remediation": {"triggerIf": {"unhealthyInRange": range}}});
    let outside = plan(&five(range("[1-2]")));
    let message = "Remediation is not allowed, the number of not started or unhealthy machines does not fall within the range (total: 5, unhealthy: 2, unhealthyRange: [1-2])";
    assert_eq!(outside.check.condition("RemediationAllowed").unwrap().message, message);
    let inside = plan(&five(range("[3-5]")));
    assert_eq!(inside.check.status.as_ref().unwrap().remediations_allowed, Some(2));
    let wrong = plan(&five(range("[5-3]")));
    let allowed = wrong.check.condition("RemediationAllowed").unwrap();
    assert_eq!((allowed.status.as_str(), allowed.reason.as_str()), ("Unknown", "InternalError"));
    assert!(allowed.message.contains("unhealthyInRange") && wrong.events.is_empty());
    assert!(wrong.marks.iter().all(|mark| mark.wanted.condition("OwnerRemediated").is_none()));
}

#[test]
fn the_owner_is_asked_once() {
    let failing = condition("HealthCheckSucceeded", "False", "UnhealthyNode", EARLY);
    let owner = |status: &str, reason: &str| {
        with_conditions(&[failing.clone(), condition("OwnerRemediated", status, reason, EARLY)])
    };
    let mut deleting = machine("a", json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}}));
    json_patch(&mut deleting, with_conditions(&[]));
    let rows = [
        ("for the first time", json!({}), Some("WaitingForRemediation"), true),
        ("the last remediation is done", owner("True", "Remediated"), Some("WaitingForRemediation"), true),
        ("a remediation goes on", owner("False", "RemediationDeferred"), Some("RemediationDeferred"), false),
        ("it is deleted anyway", deleting, None, false),
    ];
    for (what, more, expected, is_new) in rows {
        let targets = vec![(machine("a", more), sick(EARLY), Reference::None)];
        let plan = plan(&observed(check(ready_for_10_s()), targets));
        let mark = &plan.marks[0];
        let reason = mark.wanted.condition("OwnerRemediated").map(|condition| condition.reason.as_str());
        assert_eq!((reason, mark.is_new), (expected, is_new), "{what}");
    }
}

fn external(kind: &str, value: Value) -> Reference {
    let group = "infrastructure.cluster.x-k8s.io";
    let api_version = format!("{group}/v1beta2");
    Reference::Found(ExternalObject {
        object: parse(&value),
        resource: ApiResource {
            group: group.to_owned(),
            version: "v1beta2".to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: engine::contract::plural(kind),
        },
        contract: "v1beta2",
    })
}

fn template() -> Reference {
    let strategy = json!({"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}});
    external(
        "Metal3RemediationTemplate",
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3RemediationTemplate",
            "metadata": {"name": "reboot", "namespace": "default"}, "spec": {"template": {"spec": strategy}}}),
    )
}

fn request(more: Value) -> Reference {
    let mut request = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
        "metadata": {"name": "a", "namespace": "default"}});
    json_patch(&mut request, more);
    external("Metal3Remediation", request)
}

fn with_template() -> Value {
    let mut spec = ready_for_10_s();
    let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3RemediationTemplate", "name": "reboot"});
    json_patch(&mut spec, json!({"remediation": {"templateRef": reference}}));
    spec
}

#[test]
fn an_external_controller_is_asked_by_an_object() {
    let targets = vec![(machine("a", json!({})), sick(EARLY), Reference::NotFound)];
    let observed = Observed { template: template(), ..observed(check(with_template()), targets) };
    let plan = plan(&observed);
    let mark = &plan.marks[0];
    let (request, resource) = mark.create.as_ref().unwrap();
    assert_eq!(
        (resource.kind.as_str(), resource.api_version.as_str()),
        ("Metal3Remediation", "infrastructure.cluster.x-k8s.io/v1beta2")
    );
    let wanted = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
        "metadata": {"name": "a", "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "plain"},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": "reboot",
                "cluster.x-k8s.io/cloned-from-groupkind": "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io"},
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a", "uid": "a"}]},
        "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}},
    });
    assert_eq!(serde_json::to_value(request).unwrap(), wanted);
    assert!(mark.is_new && mark.wanted.condition("OwnerRemediated").is_none());
}

#[test]
fn what_a_machine_says_about_its_external_remediation() {
    let failing = condition("HealthCheckSucceeded", "False", "UnhealthyNode", EARLY);
    let with = |reason: &str| {
        with_conditions(&[failing.clone(), condition("ExternallyRemediated", "False", reason, EARLY)])
    };
    let removed = with_conditions(std::slice::from_ref(&failing));
    let deleting = json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}});
    let failed = || Reference::Failed("no such kind".to_owned());
    let there = || request(json!({}));
    // What, the Machine, the object, the template, the reason, whether an object is created, whether there is an error.
    let rows = [
        (
            "it is asked for",
            json!({}),
            Reference::NotFound,
            template(),
            Some("WaitingForRemediation"),
            true,
            false,
        ),
        (
            "no template",
            json!({}),
            Reference::NotFound,
            Reference::NotFound,
            Some("RemediationTemplateNotFound"),
            false,
            false,
        ),
        (
            "no kind of templates",
            json!({}),
            Reference::NotFound,
            failed(),
            Some("RemediationTemplateNotFound"),
            false,
            true,
        ),
        ("no kind of objects", json!({}), failed(), template(), None, false, true),
        (
            "the process ended before it marked the Machine",
            json!({}),
            there(),
            template(),
            Some("WaitingForRemediation"),
            false,
            false,
        ),
        (
            "somebody else made the object",
            with("RemediationRequestCreationFailed"),
            there(),
            template(),
            Some("WaitingForRemediation"),
            false,
            false,
        ),
        (
            "the controller says something else",
            with("Rebooting"),
            there(),
            template(),
            Some("Rebooting"),
            false,
            false,
        ),
        ("the controller removed the condition", removed, there(), template(), None, false, false),
        ("the Machine is deleted anyway", deleting, Reference::NotFound, template(), None, false, false),
    ];
    for (what, more, request, template, expected, creates, fails) in rows {
        let targets = vec![(machine("a", more), sick(EARLY), request)];
        let observed = Observed { template, ..observed(check(with_template()), targets) };
        let plan = plan(&observed);
        let mark = &plan.marks[0];
        let reason = mark.wanted.condition("ExternallyRemediated").map(|condition| condition.reason.as_str());
        assert_eq!(
            (reason, mark.create.is_some(), !plan.errors.is_empty()),
            (expected, creates, fails),
            "{what}"
        );
        assert!(plan.delete.is_empty(), "{what}");
    }
}

#[test]
fn the_object_of_a_healthy_machine_is_deleted() {
    let deleting = json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}});
    let rows = [
        ("healthy again", ready(), request(json!({})), 1),
        ("already being deleted", ready(), request(deleting), 0),
        ("not judged yet", sick(RECENT), request(json!({})), 0),
        ("nothing was asked", ready(), Reference::NotFound, 0),
    ];
    for (what, node, request, deleted) in rows {
        let targets = vec![(machine("a", json!({})), node, request)];
        let observed = Observed { template: template(), ..observed(check(with_template()), targets) };
        assert_eq!(plan(&observed).delete.len(), deleted, "{what}");
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
