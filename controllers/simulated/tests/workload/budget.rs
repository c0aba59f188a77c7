//! Tests of `simulated::workload::budget`.

use serde_json::{Value, json};
use simulated::workload::budget::{Verdict, judge};

fn pod(ready: &str, phase: &str) -> Value {
    json!({"metadata": {"labels": {"app": "a"}},
           "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})
}

fn budget(spec: Value, status: Value) -> Value {
    let mut budget = json!({"metadata": {"name": "b"}, "spec": spec, "status": status});
    budget["spec"]["selector"] = json!({"matchLabels": {"app": "a"}});
    budget
}

#[test]
fn a_budget_counts_the_healthy_pods() {
    let (up, down) = (pod("True", "Running"), pod("False", "Running"));
    let three = [up.clone(), up.clone(), up.clone()];
    let two = [up.clone(), up.clone(), down.clone()];
    let rows = [
        (json!({"minAvailable": 2}), json!({}), &three, &up, true),
        (json!({"minAvailable": 2}), json!({}), &two, &up, false),
        (json!({"minAvailable": 3}), json!({}), &three, &up, false),
        (json!({"minAvailable": "50%"}), json!({}), &three, &up, true),
        (json!({"minAvailable": "67%"}), json!({}), &three, &up, false),
        (json!({"maxUnavailable": 1}), json!({}), &three, &up, true),
        (json!({"maxUnavailable": 1}), json!({}), &two, &up, false),
        (json!({"maxUnavailable": 0}), json!({}), &three, &up, false),
        (json!({}), json!({}), &three, &up, true),
        // Unhealthy Pods go while enough others are healthy.
        (json!({"minAvailable": 2}), json!({}), &two, &down, true),
        (json!({"minAvailable": 3}), json!({}), &two, &down, false),
        (
            json!({"minAvailable": 3, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            json!({}),
            &two,
            &down,
            true,
        ),
        // What somebody wrote into the status counts.
        (json!({"minAvailable": 1}), json!({"disruptionsAllowed": 0}), &three, &up, false),
        (json!({"minAvailable": 3}), json!({"disruptionsAllowed": 1}), &three, &up, true),
    ];
    for (spec, status, pods, evicted, allowed) in rows {
        let verdict = judge(evicted, pods, &[budget(spec.clone(), status)]);
        assert_eq!(verdict == Verdict::Allowed, allowed, "{spec}: {verdict:?}");
    }
}

#[test]
fn which_budgets_count_and_what_they_say() {
    let up = pod("True", "Running");
    let all = [up.clone()];
    let strict = budget(json!({"minAvailable": 1}), json!({}));
    let message = "The disruption budget b needs 1 healthy pods and has 1 currently".to_owned();
    assert_eq!(judge(&up, &all, std::slice::from_ref(&strict)), Verdict::Forbidden(message));
    assert_eq!(judge(&up, &all, &[strict.clone(), strict.clone()]), Verdict::Ambiguous);
    for phase in ["Pending", "Succeeded", "Failed"] {
        assert_eq!(judge(&pod("False", phase), &all, std::slice::from_ref(&strict)), Verdict::Allowed);
    }
    let mut other = strict.clone();
    other["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]});
    let mut none = strict.clone();
    none["spec"]["selector"] = Value::Null;
    assert_eq!(judge(&up, &all, &[other, none]), Verdict::Allowed);
    let mut every = strict;
    every["spec"]["selector"] = json!({});
    assert_ne!(judge(&up, &all, &[every]), Verdict::Allowed);
}
