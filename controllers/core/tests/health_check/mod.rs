//! The rules of MachineHealthChecks: which Machines are unhealthy, and what is done about them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod clock;
mod judged;
mod limits;
mod remedies;

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
