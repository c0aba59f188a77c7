//! How many Machines may be unhealthy.

use super::*;

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
    let older = status.deprecated.clone().and_then(|deprecated| deprecated.v1beta1).unwrap().conditions;
    let older = older.iter().map(|found| (found.severity.as_deref(), found.reason.as_deref()));
    assert_eq!(older.collect::<Vec<_>>(), [(Some("Warning"), Some("TooManyUnhealthy"))]);
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
fn recovered_machines_are_written_before_one_is_to_be_remediated() {
    let mut all = ready_for_10_s();
    json_patch(&mut all, json!({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 1}}}));
    let failed = || with_conditions(&[condition("HealthCheckSucceeded", "False", "UnhealthyNode", EARLY)]);
    let targets = [("a", sick(EARLY)), ("b", ready()), ("c", ready())];
    let targets = targets.map(|(name, node)| (machine(name, failed()), node, Reference::None));
    let plan = plan(&observed(check(all), targets.into()));
    let marks = plan.marks.iter().map(|mark| (mark.wanted.metadata.name.as_deref().unwrap(), mark.is_new));
    assert_eq!(marks.collect::<Vec<_>>(), [("b", false), ("c", false), ("a", true)]);
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

/// The plan for so many Machines of which these are healthy.
fn with_limit(trigger: Value, expected: usize, healthy: usize) -> Plan {
    let mut all = ready_for_10_s();
    json_patch(&mut all, json!({"remediation": {"triggerIf": trigger}}));
    let target = |number: usize| {
        let node = if number < healthy { ready() } else { sick(EARLY) };
        (machine(&format!("m{number}"), json!({})), node, Reference::None)
    };
    plan(&observed(check(all), (0..expected).map(target).collect()))
}

#[test]
fn how_many_more_may_become_unhealthy() {
    let limit = |limit: Value| json!({"unhealthyLessThanOrEqualTo": limit});
    let range = json!({"unhealthyInRange": "[3-5]"});
    let both = json!({"unhealthyLessThanOrEqualTo": 0, "unhealthyInRange": "[1-2]"});
    // What is set, expected and healthy Machines, how many more: nothing if no remediation is allowed.
    let rows = [
        ("the default is all", json!({}), 5, 0, Some(0)),
        ("a percentage is rounded down", limit(json!("40%")), 4, 4, Some(1)),
        ("at the limit", limit(json!("40%")), 5, 3, Some(0)),
        ("above the limit", limit(json!("40%")), 5, 2, None),
        ("a number", limit(json!(2)), 5, 4, Some(1)),
        ("0 stops at the first", limit(json!(0)), 5, 4, None),
        ("0 with all healthy", limit(json!(0)), 5, 5, Some(0)),
        ("no Machine", limit(json!("40%")), 0, 0, Some(0)),
        ("below the range", range.clone(), 9, 7, None),
        ("the least of the range", range.clone(), 9, 6, Some(2)),
        ("the most of the range", range.clone(), 9, 4, Some(0)),
        ("above the range", range, 9, 3, None),
        ("the range wins", both, 9, 8, Some(1)),
    ];
    for (what, trigger, expected, healthy, more) in rows {
        let plan = with_limit(trigger, expected, healthy);
        let allowed = plan.check.condition("RemediationAllowed").unwrap();
        assert_eq!(
            allowed.status,
            if more.is_some() { "True" } else { "False" },
            "{what}: {}",
            allowed.message
        );
        assert_eq!(plan.check.status.as_ref().unwrap().remediations_allowed, more.or(Some(0)), "{what}");
    }
}

#[test]
fn what_is_no_limit_is_told() {
    for trigger in [
        json!({"unhealthyLessThanOrEqualTo": "many"}),
        json!({"unhealthyInRange": "[5-3]"}),
        json!({"unhealthyInRange": "3-5"}),
        json!({"unhealthyInRange": "[3-99999999999]"}),
    ] {
        let plan = with_limit(trigger, 5, 5);
        let allowed = plan.check.condition("RemediationAllowed").unwrap();
        assert_eq!(allowed.status, "Unknown");
        let message = &allowed.message;
        assert!(message.contains("spec.remediation.triggerIf.") && message.contains("write "), "{message}");
    }
}
