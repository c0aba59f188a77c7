//! The end of containers: hooks, signals and grace periods, with the rules of Kubernetes' kubelet.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Container, Pod, Probe};
use kube::ResourceExt;
use rustix::process::Signal;
use tokio::sync::mpsc;

use super::worker::{Event, Worker};
use crate::needs::containers;
use crate::probe::{self, Purpose, Target};

/// The time that a Pod has for its end if it names none.
const GRACE: i64 = 30;
/// The time that a container has at least between its hook and its end, as in Kubernetes.
const LEAST: Duration = Duration::from_secs(2);

/// Returns the time that a Pod gives its containers for their ends.
pub(super) fn grace(pod: &Pod) -> Duration {
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    seconds(pod.metadata.deletion_grace_period_seconds.or(own).unwrap_or(GRACE))
}

/// Returns the time that a container has which this probe ends.
pub fn grace_of_probe(pod: &Pod, container: &Container, purpose: Purpose) -> Duration {
    let probe: Option<&Probe> = match purpose {
        Purpose::Startup => container.startup_probe.as_ref(),
        Purpose::Liveness => container.liveness_probe.as_ref(),
        Purpose::Readiness => None,
    };
    let own = probe.and_then(|probe| probe.termination_grace_period_seconds);
    own.map_or_else(|| grace(pod), seconds)
}

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}

impl Worker {
    /// Ends a container: its hook, SIGTERM, and SIGKILL when its time is over. The first call counts.
    pub(super) fn stop(&mut self, at: usize, grace: Duration) {
        let found = containers(&self.pod).nth(at).map(|(container, _)| container.clone());
        let Some(container) = found else { return };
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.clone());
        let target = self.target(at, &container);
        let clock = self.shared.clock.clone();
        let what = format!("the hook preStop of the container {}", container.name);
        let Some(running) = self.running.get_mut(at).and_then(Option::as_mut) else { return };
        if running.is_stopping() {
            return;
        }
        let signals = running.signals();
        running.stop_with(async move {
            let mut end = clock.monotonic() + grace;
            if let (Some(hook), Some(target)) = (hook, target) {
                let done = tokio::time::timeout_at(end, probe::hook(&hook, &target)).await;
                let done = done.with_context(|| format!("not within {grace:?}")).and_then(|done| done);
                if let Err(error) = done {
                    tracing::warn!("{what} failed: {error:#}");
                }
                end = end.max(clock.monotonic() + LEAST);
            }
            // A process that has ended needs no signals.
            signals.send(Signal::TERM).await.ok();
            tokio::time::sleep_until(end).await;
            signals.send(Signal::KILL).await.ok();
        });
        self.normal("Killing", format!("Stopping container {}", container.name));
    }

    /// Ends a container which a probe has found to be bad.
    pub(super) fn stop_for(&mut self, at: usize, purpose: Purpose) {
        let container = containers(&self.pod).nth(at).map(|(container, _)| container.clone());
        let grace = grace_of_probe(&self.pod, &container.unwrap_or_default(), purpose);
        self.stop(at, grace);
    }

    /// Ends all containers within the Pod's grace period: the sidecars after the others, the last one first.
    pub(super) async fn stop_all(&mut self, events: &mut mpsc::Receiver<Event>) {
        let end = self.shared.clock.monotonic() + grace(&self.pod);
        let all = || 0..self.states.len();
        let own: Vec<usize> = all().filter(|at| !self.states[*at].is_sidecar).collect();
        let sidecars = all().rev().filter(|at| self.states[*at].is_sidecar).map(|at| vec![at]);
        let batches: Vec<Vec<usize>> = std::iter::once(own).chain(sidecars).collect();
        for batch in batches {
            let left = end.saturating_duration_since(self.shared.clock.monotonic());
            for at in &batch {
                self.stop(*at, left);
            }
            // Each of them is killed at its end.
            while batch.iter().any(|at| self.running[*at].is_some()) {
                match tokio::time::timeout_at(end + 2 * LEAST, events.recv()).await {
                    Ok(Some(event)) => self.on(event),
                    Ok(None) | Err(_) => return self.kill_all(),
                }
            }
        }
    }

    fn kill_all(&mut self) {
        tracing::warn!("containers of the Pod {} do not end in time; they are killed", self.pod.name_any());
        self.running.clear();
    }

    /// Returns what probes and hooks of a container ask; `None` if it does not run.
    pub(super) fn target(&self, at: usize, container: &Container) -> Option<Target> {
        let running = self.running.get(at)?.as_ref()?;
        let reach = self.reach.get()?;
        Some(Target {
            container: container.clone(),
            address: reach.address.clone(),
            network: self.shared.network.clone(),
            moves: reach.moves.clone().into(),
            exec: running.exec.clone(),
            paths: running.paths.clone(),
        })
    }
}
