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
