//! The phases of a remediation.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::annotation;
use engine::{Action, conditions, finalizer};
use metal_machines::limits::DRAIN_POLL;
use metal_machines::names::{REMEDIATION_FINALIZER, UNHEALTHY};
use metal_machines::remediation::observed::Observed;
use metal_machines::remediation::plan::{
    DELETING_MACHINE, FAILED, Plan, RUNNING, UNHEALTHY_NODE, WAITING, is_out_of_service, plan, reboot_key,
};
use schemas::metal3::BareMetalHost;
use schemas::{FromJson, HasConditions};
use serde_json::{Value, json};

fn parse<T: FromJson>(value: Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

/// A remediation whose status is `status`, of a host that is on or off.
fn observed(status: Value, is_on: bool) -> Observed {
    Observed {
        remediation: parse(json!({
            "metadata": {"name": "m", "namespace": "metal", "uid": "u", "finalizers": [REMEDIATION_FINALIZER]},
            "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}},
            "status": status,
        })),
        machine: Some(parse(json!({"metadata": {"name": "m", "namespace": "metal"}}))),
        cluster: None,
        host: Some(parse(json!({
            "metadata": {"name": "h", "namespace": "metal"},
            "spec": {"online": true},
            "status": {"poweredOn": is_on},
        }))),
        node: Some(parse(json!({"metadata": {"name": "n"}}))),
        is_draining: false,
    }
}

/// Returns whether the host is switched off by the remediation.
fn is_held_off(host: &BareMetalHost, uid: &str) -> bool {
    annotation(host, &reboot_key(uid)).is_some()
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

fn phase(plan: &Plan) -> &str {
    plan.remediation.status.as_ref().unwrap().phase.as_deref().unwrap_or_default()
}

/// Applies a plan to what it was made from, as the controller does.
fn next(observed: Observed, plan: Plan) -> Observed {
    Observed {
        remediation: Arc::new(plan.remediation),
        host: plan.host.map(Arc::new),
        node: plan.node.map(Arc::new),
        machine: plan.machine.map(Arc::new).or(observed.machine),
        ..observed
    }
}

fn with_power(mut observed: Observed, is_on: bool) -> Observed {
    let mut host = observed.host.as_deref().unwrap().clone();
    host.status.get_or_insert_default().powered_on = is_on;
    observed.host = Some(Arc::new(host));
    observed
}

#[test]
fn a_host_is_switched_off_and_on_and_given_up_at_last() {
    let mut state = observed(json!({}), true);
    for attempt in 0..2 {
        let begin = 1000 * (attempt + 1);
        if attempt == 0 {
            let plan = plan(&state, at(begin));
            assert_eq!(phase(&plan), RUNNING);
            state = next(state, plan);
        }
        let off = plan(&state, at(begin));
        assert!(is_held_off(off.host.as_ref().unwrap(), "u") && phase(&off) == RUNNING);
        state = with_power(next(state, off), false);
        let tainted = plan(&state, at(begin + 5));
        assert!(is_out_of_service(tainted.node.as_ref().unwrap()) && phase(&tainted) == RUNNING);
        state = next(state, tainted);
        let draining = plan(&Observed { is_draining: true, ..state.clone() }, at(begin + 6));
        assert_eq!((phase(&draining), draining.action), (RUNNING, Action::requeue_after(DRAIN_POLL)));
        let waiting = plan(&state, at(begin + 10));
        assert_eq!(phase(&waiting), WAITING);
        state = next(state, waiting);
        let on = plan(&state, at(begin + 11));
        assert!(!is_held_off(on.host.as_ref().unwrap(), "u") && is_out_of_service(on.node.as_ref().unwrap()));
        state = with_power(next(state, on), true);
        let healthy = plan(&state, at(begin + 20));
        assert!(!is_out_of_service(healthy.node.as_ref().unwrap()));
        assert_eq!(healthy.action, Action::requeue_after(std::time::Duration::from_secs(280)));
        state = next(state, healthy);
        let late = plan(&state, at(begin + 1000));
        assert_eq!(phase(&late), if attempt == 0 { RUNNING } else { DELETING_MACHINE });
        state = next(state, late);
    }
    let host = state.host.as_deref().unwrap();
    assert_eq!(annotation(host, UNHEALTHY), Some(UNHEALTHY_NODE));
    let asked = state.machine.as_ref().unwrap().condition("OwnerRemediated").unwrap().clone();
    assert_eq!((asked.status.as_str(), asked.reason.as_str()), ("False", "WaitingForRemediation"));

    let mut machine = state.machine.as_deref().unwrap().clone();
    let deleting = conditions::is_false("OwnerRemediated", "MachineDeleting", "");
    conditions::set(&mut machine, at(5000), deleting);
    state.machine = Some(Arc::new(machine));
    assert!(plan(&state, at(5001)).machine.is_none(), "what the owner says stays");
}

#[test]
fn a_host_that_somebody_switched_off_is_left_alone() {
    let mut state = observed(json!({}), false);
    let mut host = state.host.as_deref().unwrap().clone();
    host.spec.online = false;
    state.host = Some(Arc::new(host));
    assert_eq!(phase(&plan(&state, at(0))), FAILED);
    assert_eq!(phase(&plan(&Observed { host: None, ..state }, at(0))), FAILED);
}

#[test]
fn an_unreachable_cluster_does_not_hold_the_host_off() {
    let state = observed(json!({"phase": RUNNING, "lastRemediated": "1970-01-01T00:00:00Z"}), false);
    assert_eq!(phase(&plan(&Observed { node: None, ..state }, at(1))), WAITING);
}

#[test]
fn a_deleted_remediation_leaves_nothing_behind() {
    let state = observed(json!({"phase": RUNNING, "lastRemediated": "1970-01-01T00:00:00Z"}), false);
    let running = plan(&state, at(1));
    let mut state = next(state, running);
    let mut remediation = state.remediation.as_ref().clone();
    remediation.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
    state.remediation = Arc::new(remediation);
    let plan = plan(&state, at(2));
    assert!(
        !is_held_off(plan.host.as_ref().unwrap(), "u") && !is_out_of_service(plan.node.as_ref().unwrap())
    );
    assert!(!finalizer::has(&plan.remediation, REMEDIATION_FINALIZER));
}
