//! The status of a Pod, from the states of its containers.

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::state::{Phase, State, Termination};

/// Returns the status of a Pod. `states` has the init containers first; `address` is that of the Pod, once it has one.
pub fn status(
    pod: &Pod,
    states: &[State],
    address: Option<&str>,
    host: &str,
    now: DateTime<Utc>,
) -> PodStatus {
    let old = pod.status.clone().unwrap_or_default();
    let spec = pod.spec.clone().unwrap_or_default();
    let of = |state: &State| {
        let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        all.into_iter()
            .find(|container| container.name == state.name)
            .map(|container| container_status(container, state))
    };
    let (init, own): (Vec<&State>, Vec<&State>) = states.iter().partition(|state| state.is_init);
    let conditions = conditions(&old, &init, &own, now);
    let init_statuses: Vec<ContainerStatus> = init.iter().filter_map(|state| of(state)).collect();
    PodStatus {
        phase: Some(phase(&spec.restart_policy.clone().unwrap_or_default(), &init, &own).to_owned()),
        conditions: Some(conditions),
        container_statuses: Some(own.iter().filter_map(|state| of(state)).collect()),
        init_container_statuses: (!init_statuses.is_empty()).then_some(init_statuses),
        pod_ip: address.map(str::to_owned),
        pod_ips: address.map(|address| vec![PodIP { ip: address.to_owned() }]),
        host_ip: Some(host.to_owned()),
        host_ips: Some(vec![k8s_openapi::api::core::v1::HostIP { ip: host.to_owned() }]),
        start_time: old.start_time.clone().or_else(|| Some(time(now))),
        observed_generation: pod.metadata.generation,
        ..old
    }
}

fn phase(policy: &str, init: &[&State], own: &[&State]) -> &'static str {
    let ended = |state: &&State| matches!(state.phase, Phase::Terminated(_));
    let failed = |state: &&&State| ended(state) && !state.has_succeeded();
    if init.iter().any(|state| policy == "Never" && !state.is_sidecar && failed(&state)) {
        return "Failed";
    }
    let has_begun = own.iter().any(|state| state.was_started());
    if !has_begun && !init.iter().all(|state| state.is_initialized()) {
        return "Pending";
    }
    let stays = policy == "Never" || (policy == "OnFailure" && own.iter().all(|state| state.has_succeeded()));
    if stays && own.iter().all(ended) {
        return if own.iter().any(|state| failed(&state)) { "Failed" } else { "Succeeded" };
    }
    if own.iter().all(|state| state.was_started()) { "Running" } else { "Pending" }
}

fn conditions(old: &PodStatus, init: &[&State], own: &[&State], now: DateTime<Utc>) -> Vec<PodCondition> {
    let not_ready: Vec<&str> = init
        .iter()
        .filter(|state| state.is_sidecar)
        .chain(own)
        .filter(|state| !matches!(state.phase, Phase::Running { ready: true, .. }))
        .map(|state| state.name.as_str())
        .collect();
    // A sidecar that is started again later takes nothing back.
    let has_begun = own.iter().any(|state| state.was_started());
    let is_initialized = |state: &&&State| has_begun || state.is_initialized();
    let waits: Vec<&str> =
        init.iter().filter(|state| !is_initialized(state)).map(|state| state.name.as_str()).collect();
    let ready = (not_ready.is_empty(), "ContainersNotReady", message("unready status", &not_ready));
    let all = [
        ("PodReadyToStartContainers", (true, "", String::new())),
        ("Initialized", (waits.is_empty(), "ContainersNotInitialized", message("incomplete status", &waits))),
        ("Ready", ready.clone()),
        ("ContainersReady", ready),
        ("PodScheduled", (true, "", String::new())),
    ];
    let mut conditions: Vec<PodCondition> = Vec::new();
    for (name, (is_true, reason, message)) in all {
        let status = if is_true { "True" } else { "False" };
        let before = old.conditions.iter().flatten().find(|condition| condition.type_ == name);
        let since = before
            .filter(|before| before.status == status)
            .and_then(|before| before.last_transition_time.clone());
        conditions.push(PodCondition {
            type_: name.to_owned(),
            status: status.to_owned(),
            reason: (!is_true).then(|| reason.to_owned()),
            message: (!is_true).then_some(message),
            last_transition_time: since.or_else(|| Some(time(now))),
            ..PodCondition::default()
        });
    }
    let is_own = |name: &str| all_names().contains(&name);
    conditions.extend(old.conditions.iter().flatten().filter(|condition| !is_own(&condition.type_)).cloned());
    conditions
}

fn all_names() -> [&'static str; 5] {
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
}

fn message(what: &str, names: &[&str]) -> String {
    format!("containers with {what}: [{}]", names.join(" "))
}

fn container_status(container: &Container, state: &State) -> ContainerStatus {
    let (started, ready) = match state.phase {
        Phase::Running { started, ready, .. } => (started, ready),
        // An init container counts as ready once it has succeeded.
        _ => (false, state.is_init && !state.is_sidecar && state.has_succeeded()),
    };
    ContainerStatus {
        name: state.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: state.image_id.clone().unwrap_or_default(),
        container_id: None,
        ready,
        started: Some(started),
        restart_count: state.restarts,
        state: Some(container_state(&state.phase)),
        last_state: Some(match &state.last {
            Some(end) => ContainerState { terminated: Some(terminated(end)), ..ContainerState::default() },
            None => ContainerState::default(),
        }),
        ..ContainerStatus::default()
    }
}

fn container_state(phase: &Phase) -> ContainerState {
    match phase {
        Phase::Waiting { reason, message, .. } => ContainerState {
            waiting: Some(ContainerStateWaiting {
                reason: Some(reason.clone()),
                message: (!message.is_empty()).then(|| message.clone()),
            }),
            ..ContainerState::default()
        },
        Phase::Running { since, .. } => ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(time(*since)) }),
            ..ContainerState::default()
        },
        Phase::Terminated(end) => {
            ContainerState { terminated: Some(terminated(end)), ..ContainerState::default() }
        }
    }
}

fn terminated(end: &Termination) -> ContainerStateTerminated {
    ContainerStateTerminated {
        exit_code: end.code,
        signal: end.signal,
        reason: Some(end.reason.clone()),
        message: (!end.message.is_empty()).then(|| end.message.clone()),
        started_at: Some(time(end.started)),
        finished_at: Some(time(end.finished)),
        container_id: None,
    }
}

/// Returns a time as the API has it: in whole seconds.
fn time(time: DateTime<Utc>) -> Time {
    engine::time::time(time)
}
