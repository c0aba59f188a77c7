//! What happens to the containers of a Pod: ends, and findings of probes.

use chrono::{DateTime, Utc};
use kube::ResourceExt;
use pod_processes::Ended;

use super::Worker;
use crate::limits::TERMINATION_MESSAGE;
use crate::needs::containers;
use crate::pod::container::End;
use crate::pod::processes::Event;
use crate::pod::record;
use crate::pod::state::{Hook, Phase, Termination};
use crate::pod::stop::{grace, grace_of_probe};
use crate::probe::{Finding, Purpose};

impl Worker {
    pub(super) fn back_off(&mut self, at: usize, until: DateTime<Utc>) {
        let state = &self.states[at];
        let message =
            format!("back-off restarting failed container={} pod={}", state.name, self.pod.name_any());
        self.wait(at, "CrashLoopBackOff", &message, Some(until));
    }

    pub(super) fn wait(&mut self, at: usize, reason: &str, message: &str, until: Option<DateTime<Utc>>) {
        if let Phase::Terminated(end) = &self.states[at].phase {
            self.states[at].last = Some(end.clone());
        }
        let phase = Phase::Waiting { reason: reason.to_owned(), message: message.to_owned(), until };
        let is_same = |before: &Phase| matches!(before, Phase::Waiting { reason: known, message: said, .. } if known == reason && said == message);
        if !is_same(&self.states[at].phase) {
            record::waiting(&self.shared.recorder, &self.pod, reason, message);
        }
        self.states[at].phase = phase;
    }

    pub(super) fn all_wait(&mut self, reason: &str, message: &str) {
        for at in 0..self.states.len() {
            if matches!(self.states[at].phase, Phase::Waiting { .. }) {
                self.wait(at, reason, message, None);
            }
        }
    }

    pub(super) fn on(&mut self, event: Event) {
        match event {
            Event::Ended(at, end) => self.on_end(at, &end),
            Event::Found(at, finding) => self.on_finding(at, &finding),
            Event::Hooked(at, outcome) => self.on_hook(at, outcome),
        }
    }

    fn on_end(&mut self, at: usize, end: &End) {
        self.processes.remove(at);
        let since = match self.states[at].phase {
            Phase::Running { since, .. } => since,
            _ => return,
        };
        let code = end.ended.code();
        let name = self.states[at].name.clone();
        let mut message = self.message(&name, code, &end.output);
        if let Hook::Failed(error) = std::mem::take(&mut self.states[at].hook)
            && message.is_empty()
        {
            message = format!("PostStartHookError: {error}");
        }
        self.states[at].phase = Phase::Terminated(Termination {
            code,
            signal: match end.ended {
                Ended::Killed(signal) => Some(signal),
                Ended::Exited(_) | Ended::OutOfMemory(_) => None,
            },
            reason: reason(end.ended).to_owned(),
            message,
            started: since,
            finished: self.shared.clock.now(),
        });
    }

    /// Returns the termination message: what the container wrote to its file, or with `FallbackToLogsOnError` its last output.
    fn message(&self, name: &str, code: i32, output: &[u8]) -> String {
        let file = self.shared.folder_of(&self.pod).join("files").join(name).join("termination-log");
        let read = files::open(&file).and_then(|file| files::tail(file, TERMINATION_MESSAGE));
        let mut message = read.unwrap_or_default();
        let policy = containers(&self.pod).find(|(container, _)| container.name == name);
        let policy = policy.and_then(|(container, _)| container.termination_message_policy.clone());
        let falls_back = policy.as_deref() == Some("FallbackToLogsOnError") && code != 0;
        // What the shim says is the only word about a program that never started.
        if message.is_empty() && (falls_back || code == pod_processes::shim::CANNOT_START) {
            message = output[output.len().saturating_sub(TERMINATION_MESSAGE)..].to_vec();
        }
        String::from_utf8_lossy(&message).into_owned()
    }

    fn on_finding(&mut self, at: usize, finding: &Finding) {
        let found = containers(&self.pod).nth(at).map(|(container, _)| container.clone());
        let Some(container) = found else { return };
        let has_readiness = container.readiness_probe.is_some();
        let Phase::Running { started, ready, .. } = &mut self.states[at].phase else { return };
        match (finding.purpose, finding.is_good) {
            (Purpose::Startup, true) => {
                *started = true;
                *ready = *ready || !has_readiness;
                self.processes.probe_started(at, &container);
            }
            (Purpose::Readiness, is_good) => {
                *ready = is_good && *started;
                if !is_good {
                    let (name, pod) = (&container.name, self.pod.name_any());
                    tracing::info!("the container {name} of the Pod {pod} is not ready: {}", finding.message);
                    record::unhealthy(&self.shared.recorder, &self.pod, finding.purpose, &finding.message);
                }
            }
            (Purpose::Liveness, true) => {}
            (Purpose::Startup | Purpose::Liveness, false) => {
                tracing::warn!(
                    "the container {} of the Pod {} is ended: {}",
                    self.states[at].name,
                    self.pod.name_any(),
                    finding.message
                );
                record::unhealthy(&self.shared.recorder, &self.pod, finding.purpose, &finding.message);
                let grace = grace_of_probe(&self.pod, &container, finding.purpose);
                self.stop(at, grace);
            }
        }
    }

    /// Goes on after the hook `postStart`, or ends the container if that failed.
    fn on_hook(&mut self, at: usize, outcome: Result<(), String>) {
        let Phase::Running { started, ready, .. } = &mut self.states[at].phase else { return };
        let Some((container, _)) = containers(&self.pod).nth(at) else { return };
        let container = container.clone();
        match outcome {
            Ok(()) => {
                *started = container.startup_probe.is_none();
                *ready = *started && container.readiness_probe.is_none();
                self.states[at].hook = Hook::Done;
                self.processes.probe(at, &container);
            }
            Err(error) => {
                let (name, pod) = (&container.name, self.pod.name_any());
                tracing::warn!("the hook postStart of the container {name} of the Pod {pod} failed: {error}");
                let message = format!("PostStartHook failed: {error}");
                self.shared.recorder.warning(&self.pod, &(), "FailedPostStartHook", message);
                self.states[at].hook = Hook::Failed(error);
                self.stop(at, grace(&self.pod));
            }
        }
    }
}

/// Returns why a container has ended, in Kubernetes' words.
fn reason(ended: Ended) -> &'static str {
    match ended {
        Ended::OutOfMemory(_) => "OOMKilled",
        _ if ended.code() == 0 => "Completed",
        _ => "Error",
    }
}
