//! Says in sentences what an object waits for, the cause before the condition that reports it. Pure.
//!
//! Conditions are written for programs: their messages name fields and reasons (`VMProvisioned: WaitingForStartupTimeout`), and most of them
//! only say that something else is waited for. A sentence leaves out what follows from the others; `-o json` and `describe` have all of it.

use chrono::{DateTime, Utc};

use super::model::{Entry, State};

/// Why an object waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The cause, for example `etcd starts`.
    pub text: String,
    /// The condition that reports it; empty if the cause names none.
    pub condition: String,
}

impl Sentence {
    /// Returns the cause with the condition behind it.
    pub fn text(&self) -> String {
        match self.condition.as_str() {
            "" => self.text.clone(),
            condition => format!("{} ({condition})", self.text),
        }
    }
}

/// Returns the sentences about an entry, the most important one first. With `now` they say how far a simulated machine is.
pub fn sentences(entries: &[Entry], index: usize, now: Option<DateTime<Utc>>) -> Vec<Sentence> {
    let entry = &entries[index];
    let causes = joined(&entry.causes);
    let parsed: Vec<(Sentence, bool)> = causes.iter().map(|cause| sentence(cause)).collect();
    // What only waits for something else is worth a line if there is nothing better.
    let has_better = parsed.iter().any(|(_, is_waiting)| !is_waiting);
    let shown = parsed.into_iter().filter(|(_, is_waiting)| !has_better || !is_waiting);
    let mut sentences: Vec<Sentence> = shown.map(|(sentence, _)| sentence).collect();
    sentences.dedup_by(|next, last| next.text == last.text);
    for sentence in &mut sentences {
        if sentence.text == WAITS_FOR_CONTROL_PLANE && entry.depth == 0 {
            sentence.text.push_str(&control_plane(entries, index));
        } else if sentence.text.ends_with(STARTS)
            && let Some(progress) = now.and_then(|now| progress(entry, now))
        {
            sentence.text.push_str(&progress);
        }
    }
    sentences
}

/// What is said of a Machine that waits for its control plane.
pub const WAITS_FOR_CONTROL_PLANE: &str = "waits for the control plane";
const STARTS: &str = " starts";
/// The end of a line whose reasons follow.
const HELD_UP: &str = " is blocked because:";
/// What the conditions of the static Pods have in common.
const COMPONENTS: &str = "Control plane components";

/// Joins causes that continue the one before them: a list follows a line that ends with a colon.
fn joined(causes: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for cause in causes {
        match joined.last_mut().filter(|last| last.contains(HELD_UP)) {
            Some(last) => {
                last.push_str(if last.ends_with(':') { " " } else { "; " });
                last.push_str(cause);
            }
            None => joined.push(cause.clone()),
        }
    }
    joined
}

/// Returns the sentence of a cause, and whether it only waits for something else.
fn sentence(cause: &str) -> (Sentence, bool) {
    let (outer, message) = split(cause);
    let (inner, message) = split(decisive(message));
    let object = [inner, outer].into_iter().find_map(name_of);
    let condition = if inner.is_empty() { outer } else { inner };
    let text = translated(if object.is_some() { "" } else { condition }, message);
    let text = object.map_or(text.clone(), |name| format!("{name}: {text}"));
    let condition = if name_of(outer).is_some() { "" } else { outer };
    (Sentence { text, condition: condition.to_owned() }, waits(message))
}

/// Returns the part of a nested list that the others follow from: the first that does not only wait.
fn decisive(message: &str) -> &str {
    if message.contains(HELD_UP) {
        return message;
    }
    let mut parts = message.split("; ");
    parts.clone().find(|part| !waits(split(part).1)).or(parts.next()).unwrap_or(message)
}

/// Returns the name in `MachineDeployment first-workers`; a condition has none.
fn name_of(about: &str) -> Option<&str> {
    about.split_once(' ').filter(|_| !about.starts_with(COMPONENTS)).map(|(_, name)| name)
}

/// Splits a cause into the condition or object that it is about, and the message. Either begins with a capital, and has at most two words.
fn split(cause: &str) -> (&str, &str) {
    match cause.split_once(": ") {
        Some((about, message))
            if about.starts_with(|c: char| c.is_ascii_uppercase())
                && (about.split(' ').count() <= 2 || about == COMPONENTS) =>
        {
            (about, message)
        }
        _ => ("", cause),
    }
}

/// Returns whether a message says only that something else must come first.
fn waits(message: &str) -> bool {
    let waiting = [
        "WaitingForVM",
        "WaitingForNode",
        "WaitingForContainer",
        "WaitingForCGroups",
        "WaitingForPreloadedImages",
        "Waiting for Cluster control plane",
        "Remote connection not established yet",
    ];
    waiting.iter().any(|start| message.starts_with(start))
        || message.ends_with("not yet reported")
        || message.ends_with("to report spec.providerID")
        || message == "Pod does not exist"
}

/// Returns the message of a condition in words, or as it is.
fn translated(condition: &str, message: &str) -> String {
    let known = match message {
        "WaitingForStartupTimeout" => match condition {
            "VMProvisioned" => "its machine starts",
            "NodeProvisioned" => "its Node starts",
            "EtcdProvisioned" => "its etcd starts",
            "APIServerProvisioned" => "its API server starts",
            _ => "it starts",
        },
        "WaitingForBootstrapData" => "waits for its bootstrap data",
        "WaitingForClusterInfrastructureReady" => "waits for the infrastructure of the cluster",
        "WaitingForVMProvisioned" | "WaitingForContainer" => "waits for its machine",
        "WaitingForCGroups" | "Waiting for cgroups ready (1 of 1)" => "its machine starts",
        "WaitingForPreloadedImages" => "waits for its images",
        "WaitingForNodeProvisioned" => "waits for its Node",
        "WaitingForControlPlaneInitialized" | "Waiting for Cluster control plane to be initialized" => {
            WAITS_FOR_CONTROL_PLANE
        }
        "Control plane not yet initialized" if condition.is_empty() => "waits for its first machine",
        "Control plane not yet initialized" => WAITS_FOR_CONTROL_PLANE,
        "Remote connection not established yet" => "its API server is not connected yet",
        "Pod does not exist" => "its control plane Pods do not exist yet",
        "its first reconcile" => "waits for its first reconcile",
        _ => return rewritten(message),
    };
    known.to_owned()
}

fn rewritten(message: &str) -> String {
    if message.ends_with(" status.initialization.controlPlaneInitialized is false") {
        return WAITS_FOR_CONTROL_PLANE.to_owned();
    }
    if message.ends_with(" status.initialization.dataSecretCreated is false") {
        return "waits for its bootstrap data".to_owned();
    }
    if let Some(kind) = message.strip_suffix(" status.initialization.provisioned is false") {
        return format!("its {kind} is not provisioned yet");
    }
    if message.starts_with("Etcd doesn't have an etcd member for Node") {
        return "has no etcd member".to_owned();
    }
    if let Some((command, progress)) =
        message.strip_prefix("Running bootstrap command [ ").and_then(|rest| rest.rsplit_once(" ]"))
    {
        return format!("its bootstrap runs {command}{progress}");
    }
    if let Some(rest) = message.strip_prefix("Waiting for ").or_else(|| message.strip_prefix("waiting for "))
    {
        return format!("waits for {rest}");
    }
    if let Some((available, rest)) = message.split_once(" available replicas, at least ")
        && let Some((needed, _)) = rest.split_once(" required")
    {
        return format!("{available} machines are available, at least {needed} are needed");
    }
    if let Some(rest) = message.strip_prefix("Scaling ") {
        let rest = rest.replace(" replicas", " machines").replace(HELD_UP, " is held up:");
        return format!("scaling {rest}");
    }
    message.to_owned()
}

/// Returns how far the control plane of the cluster is: `: 2 of 3 machines are ready, first-x has no etcd member`.
fn control_plane(entries: &[Entry], cluster: usize) -> String {
    let below = entries[cluster + 1..].iter().take_while(|entry| entry.depth > 0);
    let below = below.count();
    let range = cluster + 1..=cluster + below;
    let is_control_plane = |index: &usize| {
        entries[*index].depth == 1
            && entries[*index].key.split(' ').next().is_some_and(|kind| kind.ends_with("ControlPlane"))
    };
    let Some(at) = range.clone().find(is_control_plane) else { return String::new() };
    let machines: Vec<usize> =
        range.filter(|index| *index > at).take_while(|index| entries[*index].depth > 1).collect();
    let ready = machines.iter().filter(|index| entries[**index].state == State::Good).count();
    let wanted = entries[at].summary.split_once(' ').and_then(|(count, _)| count.split_once('/'));
    let wanted = wanted.map_or_else(|| machines.len().to_string(), |(_, wanted)| wanted.to_owned());
    let mut text = format!(": {ready} of {wanted} machines are ready");
    let waiting = machines.into_iter().find(|index| entries[*index].state == State::Waiting);
    if let Some((index, first)) =
        waiting.and_then(|index| Some((index, sentences(entries, index, None).into_iter().next()?)))
    {
        let name = entries[index].label.rsplit(' ').next().unwrap_or_default();
        text.push_str(&format!(", {name}: {}", first.text));
    }
    text
}

/// Returns how far a part of a simulated machine is with its start: `: 3 of 10 s`. Nothing after its time: then something else holds it up.
fn progress(entry: &Entry, now: DateTime<Utc>) -> Option<String> {
    let starts = entry.starts?;
    let seconds = (now - starts.since).num_seconds().max(0);
    (seconds <= starts.seconds && starts.seconds > 0).then(|| format!(": {seconds} of {} s", starts.seconds))
}
