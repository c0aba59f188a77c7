//! Times of Nodes and Machines that are still to come, because a clock is or was an hour ahead.

use super::*;

const SOON: &str = "2026-11-21T02:00:00Z";

#[test]
fn what_lasts_since_a_time_to_come_is_looked_at_then() {
    let of = |machine: Value, node: MachineNode| {
        outcome(&plan(&observed(check(ready_for_10_s()), vec![(machine, node, Reference::None)])))
    };
    assert_eq!(
        of(machine("m", json!({})), sick(SOON)),
        "- next 3611",
        "neither remediated nor asked all the time"
    );
    let new = machine("m", json!({"metadata": {"creationTimestamp": SOON}}));
    assert_eq!(of(new, MachineNode::None), "- next 3721", "its start begins then");
}

/// With the clock of this process an hour ahead, everything that is not well seems to last for an hour. The limit on how much is
/// remediated at once is what the user has against that.
#[test]
fn a_clock_that_jumps_ahead_remediates_no_more_than_the_limit_allows() {
    let machines = ["a", "b", "c"].map(|name| (machine(name, json!({})), sick(EARLY), Reference::None));
    let mut spec = ready_for_10_s();
    spec["remediation"] = json!({"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}});
    let plan = plan(&observed(check(spec), machines.into()));
    let allowed = plan.check.condition("RemediationAllowed").unwrap();
    assert_eq!((allowed.status.as_str(), allowed.reason.as_str()), ("False", "TooManyUnhealthy"));
    for mark in &plan.marks {
        assert!(mark.wanted.condition("OwnerRemediated").is_none(), "no owner is asked");
    }
    assert_eq!(plan.marks.len(), 3, "but each is marked");
}

/// A selector without requirements selects each Machine of the Cluster, the control plane too.
#[test]
fn a_check_that_matches_everything_is_limited_like_any_other() {
    let everything = |limit: i32| {
        let mut check = check(ready_for_10_s());
        check["spec"]["selector"] = json!({});
        check["spec"]["remediation"] = json!({"triggerIf": {"unhealthyLessThanOrEqualTo": limit}});
        let control_plane = json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}});
        let targets = vec![
            (machine("cp", control_plane), sick(EARLY), Reference::None),
            (machine("worker", json!({})), sick(EARLY), Reference::None),
            (machine("well", json!({})), ready(), Reference::None),
        ];
        plan(&observed(check, targets))
    };
    let asked = |plan: &Plan| {
        let marks = plan.marks.iter();
        marks.filter(|mark| mark.wanted.condition("OwnerRemediated").is_some()).count()
    };
    let status = everything(1).check.status.unwrap();
    assert_eq!(status.targets, ["cp", "well", "worker"]);
    assert_eq!((status.expected_machines, status.current_healthy), (Some(3), Some(1)));
    assert_eq!(asked(&everything(1)), 0);
    assert_eq!(asked(&everything(2)), 2);
}
