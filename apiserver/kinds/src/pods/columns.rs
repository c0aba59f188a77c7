//! Columns of Pods, by the rules of kube-apiserver's printer.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or, wide};

pub(crate) fn columns() -> Vec<Column> {
    let gates = "How many of its readiness gates are passed.";
    vec![
        NAME,
        column("Ready", "How many of its containers are ready.", |pod, _| {
            let state = state(pod);
            format!("{}/{}", state.ready, state.total).into()
        }),
        column("Status", "State of the pod, or the reason why it does not run.", |pod, _| {
            state(pod).reason.into()
        }),
        column("Restarts", "How often its containers were started again, and when last.", |pod, now| {
            let Restarts { count, last } = state(pod).restarts;
            match last {
                Some(last) if count != 0 => format!("{count} ({} ago)", human_duration(now - last)),
                _ => count.to_string(),
            }
            .into()
        }),
        AGE,
        wide(column("IP", "Its first address.", |pod, _| {
            or(text(&pod["status"]["podIPs"][0], &["ip"]), "<none>")
        })),
        wide(column("Node", "The node it runs on.", |pod, _| or(text(pod, &["spec", "nodeName"]), "<none>"))),
        wide(column("Nominated Node", "The node on which pods are preempted for it.", |pod, _| {
            or(text(pod, &["status", "nominatedNodeName"]), "<none>")
        })),
        wide(column("Readiness Gates", gates, |pod, _| readiness_gates(pod))),
    ]
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<DateTime<Utc>>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += container["restartCount"].as_i64().unwrap_or_default();
        let ended = parse_rfc3339(text(container, &["lastState", "terminated", "finishedAt"]));
        self.last = self.last.max(ended);
    }
}

/// Summary of a Pod.
struct State {
    ready: usize,
    total: usize,
    reason: String,
    restarts: Restarts,
}

fn list<'a>(object: &'a Value, part: &str, field: &str) -> &'a [Value] {
    object[part][field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    list(pod, "status", "conditions").iter().find(|condition| condition["type"] == kind)
}

fn is_true(condition: Option<&Value>) -> bool {
    condition.is_some_and(|condition| condition["status"] == "True")
}

fn state(pod: &Value) -> State {
    let phase = text(pod, &["status", "phase"]);
    let why = text(pod, &["status", "reason"]);
    let mut state = State {
        ready: 0,
        total: list(pod, "spec", "containers").len(),
        reason: if why.is_empty() { phase } else { why }.to_owned(),
        restarts: Restarts::default(),
    };
    let gated = |condition: &Value| condition["reason"] == "SchedulingGated";
    if condition(pod, "PodScheduled").is_some_and(gated) {
        "SchedulingGated".clone_into(&mut state.reason);
    }
    let (initializing, of_sidecars) = init_containers(pod, &mut state);
    if !initializing || is_true(condition(pod, "Initialized")) {
        state.restarts = of_sidecars;
        containers(pod, &mut state);
    }
    if !text(pod, &["metadata", "deletionTimestamp"]).is_empty() {
        if why == "NodeLost" {
            "Unknown".clone_into(&mut state.reason);
        } else if phase != "Failed" && phase != "Succeeded" {
            "Terminating".clone_into(&mut state.reason);
        }
    }
    state
}

/// Returns whether the Pod still waits for its init containers, and the restarts of its sidecars.
fn init_containers(pod: &Value, state: &mut State) -> (bool, Restarts) {
    let declared = list(pod, "spec", "initContainers");
    let policies: BTreeMap<&str, bool> = declared
        .iter()
        .map(|container| (text(container, &["name"]), container["restartPolicy"] == "Always"))
        .collect();
    state.total += policies.values().filter(|sidecar| **sidecar).count();
    let mut of_sidecars = Restarts::default();
    for (at, container) in list(pod, "status", "initContainerStatuses").iter().enumerate() {
        state.restarts.add(container);
        let sidecar = policies.get(text(container, &["name"])).is_some_and(|sidecar| *sidecar);
        if sidecar {
            of_sidecars.add(container);
        }
        let now = &container["state"];
        if now["terminated"].is_object() && exit_code(now) == 0 {
            continue;
        }
        if sidecar && container["started"] == true {
            state.ready += usize::from(container["ready"] == true);
            continue;
        }
        let waiting = text(now, &["waiting", "reason"]);
        state.reason = if now["terminated"].is_object() {
            format!("Init:{}", ended(now))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{at}/{}", declared.len())
        };
        return (true, of_sidecars);
    }
    (false, of_sidecars)
}

fn containers(pod: &Value, state: &mut State) {
    let mut running = false;
    // In reverse order, so that the first container with a problem determines the reason.
    for container in list(pod, "status", "containerStatuses").iter().rev() {
        state.restarts.add(container);
        let now = &container["state"];
        let waiting = text(now, &["waiting", "reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut state.reason);
        } else if now["terminated"].is_object() {
            state.reason = ended(now);
        } else if container["ready"] == true && now["running"].is_object() {
            running = true;
            state.ready += 1;
        }
    }
    if state.reason == "Completed" && running {
        let reason = if is_true(condition(pod, "Ready")) { "Running" } else { "NotReady" };
        reason.clone_into(&mut state.reason);
    }
}

fn exit_code(state: &Value) -> i64 {
    state["terminated"]["exitCode"].as_i64().unwrap_or_default()
}

/// Returns the reason why a container terminated.
fn ended(state: &Value) -> String {
    let reason = text(state, &["terminated", "reason"]);
    let signal = state["terminated"]["signal"].as_i64().unwrap_or_default();
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", exit_code(state)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn readiness_gates(pod: &Value) -> Value {
    let gates = list(pod, "spec", "readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let passed = gates.iter().filter(|gate| is_true(condition(pod, text(gate, &["conditionType"])))).count();
    format!("{passed}/{}", gates.len()).into()
}

/// Returns the columns of a PodTemplate.
pub(crate) fn template() -> Vec<Column> {
    vec![
        NAME,
        column("Containers", "Names of the containers in its template.", |one, _| {
            each(&one["template"], "name").into()
        }),
        column("Images", "Images of the containers in its template.", |one, _| {
            each(&one["template"], "image").into()
        }),
        column("Pod Labels", "Labels of its pods.", |one, _| labels(&one["template"]["metadata"]["labels"])),
    ]
}

/// Returns a field of each container of a template, separated by commas.
pub(crate) fn each(template: &Value, field: &str) -> String {
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    containers.map(|container| text(container, &[field])).collect::<Vec<_>>().join(",")
}

fn labels(labels: &Value) -> Value {
    let labels = labels.as_object().into_iter().flatten();
    let shown = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    or(&shown.collect::<Vec<_>>().join(","), "<none>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::columns::{NOW, cells};

    fn merge(into: &mut Value, more: &Value) {
        for (key, value) in more.as_object().into_iter().flatten() {
            if value.is_object() { merge(&mut into[key], value) } else { into[key] = value.clone() }
        }
    }

    /// Returns the cells Ready, Status and Restarts of a Pod with one container for each element of
    /// `statuses`.
    fn shown(statuses: &Value, more: &Value) -> Value {
        let containers = vec![json!({}); statuses.as_array().unwrap().len()];
        let mut pod = json!({
            "metadata": {"name": "p", "creationTimestamp": NOW},
            "spec": {"containers": containers},
            "status": {"phase": "Running", "containerStatuses": statuses},
        });
        merge(&mut pod, more);
        Value::from(&cells(&columns(), &pod)[1..4])
    }

    #[test]
    fn containers_decide() {
        let runs = json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
        let done = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let waits = json!({"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                           "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}});
        let code = json!({"state": {"terminated": {"exitCode": 2}}});
        let signal = json!({"state": {"terminated": {"exitCode": 2, "signal": 9}}});
        let deleted = json!({"metadata": {"deletionTimestamp": NOW}});
        let lost = json!({"metadata": {"deletionTimestamp": NOW}, "status": {"reason": "NodeLost"}});
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let gated = json!({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
        let none = json!({});
        let cases = [
            (json!([runs]), &none, json!(["1/1", "Running", "0"])),
            (json!([{"ready": true}]), &none, json!(["0/1", "Running", "0"])),
            (json!([runs, waits]), &none, json!(["1/2", "CrashLoopBackOff", "3 (60s ago)"])),
            (json!([done, runs]), &none, json!(["1/2", "NotReady", "0"])),
            (json!([done, runs]), &ready, json!(["1/2", "Running", "0"])),
            (json!([code]), &none, json!(["0/1", "ExitCode:2", "0"])),
            (json!([signal]), &none, json!(["0/1", "Signal:9", "0"])),
            (json!([runs]), &deleted, json!(["1/1", "Terminating", "0"])),
            (json!([runs]), &lost, json!(["1/1", "Unknown", "0"])),
            (json!([]), &gated, json!(["0/0", "SchedulingGated", "0"])),
        ];
        for (statuses, more, expected) in cases {
            assert_eq!(shown(&statuses, more), expected, "{statuses} {more}");
        }
    }

    #[test]
    fn init_containers_come_first() {
        let init = |statuses: Value, policy: &str| {
            json!({"spec": {"initContainers": [{"name": "a", "restartPolicy": policy}, {"name": "b"}]},
                   "status": {"phase": "Pending", "initContainerStatuses": statuses}})
        };
        let ended =
            |code: i64| json!({"name": "a", "restartCount": 1, "state": {"terminated": {"exitCode": code}}});
        let waits = json!({"name": "b", "state": {"waiting": {"reason": "PodInitializing"}}});
        let pulls = json!({"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}});
        let sidecar =
            json!({"name": "a", "started": true, "ready": true, "restartCount": 2, "state": {"running": {}}});
        let cases = [
            (init(json!([ended(0), waits]), ""), json!(["0/1", "Init:1/2", "1"])),
            (init(json!([ended(1)]), ""), json!(["0/1", "Init:ExitCode:1", "1"])),
            (init(json!([pulls]), ""), json!(["0/1", "Init:ImagePullBackOff", "0"])),
            (init(json!([sidecar, waits]), "Always"), json!(["1/2", "Init:1/2", "2"])),
            (init(json!([ended(0)]), ""), json!(["0/1", "Pending", "0"])),
        ];
        for (more, expected) in cases {
            assert_eq!(shown(&json!([{}]), &more), expected, "{more}");
        }
    }

    #[test]
    fn wide() {
        let pod = json!({
            "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
            "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "b", "status": "True"}]},
        });
        assert_eq!(Value::from(&cells(&columns(), &pod)[5..]), json!(["10.0.0.1", "n", "<none>", "1/2"]));
        assert_eq!(
            Value::from(&cells(&columns(), &json!({}))[5..]),
            json!(["<none>", "<none>", "<none>", "<none>"])
        );
    }
}
