//! The processes of a Pod's containers, by their position, with their hooks and probes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Container, LifecycleHandler, Probe};
use rustix::process::Signal;
use tokio::sync::mpsc;

use super::container::{End, Running};
use super::place::Reach;
use super::shared::Shared;
use super::stop::LEAST;
use crate::limits::EVENTS;
use crate::probe::{self, Finding, Purpose, Target};

/// Something that happened to a container, by its position.
pub(super) enum Event {
    /// Its process has ended.
    Ended(usize, End),
    /// A probe has found a change.
    Found(usize, Finding),
    /// Its hook `postStart` is done, or failed for this reason.
    Hooked(usize, Result<(), String>),
}

pub(super) struct Processes {
    shared: Arc<Shared>,
    /// Where others reach the Pod.
    reach: Arc<OnceLock<Reach>>,
    running: Vec<Option<Running>>,
    sender: mpsc::Sender<Event>,
}

impl Processes {
    /// Creates the processes of `count` containers, none of which runs.
    pub(super) fn new(
        shared: Arc<Shared>,
        reach: Arc<OnceLock<Reach>>,
        count: usize,
        sender: mpsc::Sender<Event>,
    ) -> Self {
        Self { shared, reach, running: (0..count).map(|_| None).collect(), sender }
    }

    /// Returns where what happens to a container is sent.
    pub(super) fn sender(&self) -> mpsc::Sender<Event> {
        self.sender.clone()
    }

    pub(super) fn is_running(&self, at: usize) -> bool {
        self.running[at].is_some()
    }

    pub(super) fn add(&mut self, at: usize, running: Running) {
        self.running[at] = Some(running);
    }

    /// Forgets one that has ended.
    pub(super) fn remove(&mut self, at: usize) {
        self.running[at] = None;
    }

    /// Kills all that still run.
    pub(super) fn kill_all(&mut self) {
        self.running.clear();
    }

    /// Ends a container: its hook, SIGTERM, and SIGKILL when its time is over. Returns whether this has begun its end: the first call counts.
    pub(super) fn stop(&mut self, at: usize, container: &Container, grace: Duration) -> bool {
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.clone());
        let target = self.target(at, container);
        let clock = self.shared.clock.clone();
        let what = format!("the hook preStop of the container {}", container.name);
        let Some(running) = self.running.get_mut(at).and_then(Option::as_mut) else { return false };
        if running.is_stopping() {
            return false;
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
        true
    }

    /// Runs the hook `postStart`. Probes begin after it.
    pub(super) fn begin_hook(&mut self, at: usize, container: &Container, hook: LifecycleHandler) {
        let (target, events) = (self.target(at, container), self.sender.clone());
        let task = tokio::spawn(async move {
            let Some(target) = target else { return };
            let outcome = probe::hook(&hook, &target).await;
            drop(events.send(Event::Hooked(at, outcome.map_err(|error| format!("{error:#}")))).await);
        });
        if let Some(running) = self.running[at].as_mut() {
            running.probes.push(task);
        }
    }

    /// Begins the probes of a container. While it starts, there is only one.
    pub(super) fn probe(&mut self, at: usize, container: &Container) {
        match container.startup_probe.clone() {
            Some(probe) => self.probe_for(at, container, Purpose::Startup, probe),
            None => self.probe_started(at, container),
        }
    }

    /// Begins the probes of a container that has started.
    pub(super) fn probe_started(&mut self, at: usize, container: &Container) {
        let probes = [
            (Purpose::Readiness, container.readiness_probe.clone()),
            (Purpose::Liveness, container.liveness_probe.clone()),
        ];
        for (purpose, probe) in probes.into_iter().filter_map(|(purpose, probe)| Some((purpose, probe?))) {
            self.probe_for(at, container, purpose, probe);
        }
    }

    fn probe_for(&mut self, at: usize, container: &Container, purpose: Purpose, probe: Probe) {
        let Some(target) = self.target(at, container) else { return };
        let Some(running) = self.running[at].as_mut() else { return };
        let (sender, mut findings) = mpsc::channel(EVENTS);
        let clock = self.shared.clock.clone();
        running.probes.push(tokio::spawn(probe::run(purpose, probe, target, clock, sender)));
        let events = self.sender.clone();
        running.probes.push(tokio::spawn(async move {
            while let Some(finding) = findings.recv().await {
                drop(events.send(Event::Found(at, finding)).await);
            }
        }));
    }

    /// Returns what probes and hooks of a container ask; `None` if it does not run.
    fn target(&self, at: usize, container: &Container) -> Option<Target> {
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
