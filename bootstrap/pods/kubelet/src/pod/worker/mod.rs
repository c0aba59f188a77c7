//! Performs the plan of one Pod: prepares volumes and images, starts and ends processes, and writes the status.

mod events;
mod start;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::sync::{Mutex, mpsc, watch};

use super::image::Refused;
use super::place::Reach;
use super::plan::plan;
use super::prepared::Prepared;
use super::processes::{Event, Processes};
use super::shared::Shared;
use super::state::State;
use super::status::status;
use super::stop::{LEAST, grace};
use crate::host::ADDRESS;
use crate::limits::EVENTS;
use crate::needs::containers;

/// How often ConfigMaps, Secrets and tokens are read again. Kubernetes' kubelet needs up to a minute, too.
const REFRESH: Duration = Duration::from_secs(60);
/// How soon a Pod that could not be prepared is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The worker of one Pod.
pub(super) struct Worker {
    shared: Arc<Shared>,
    /// The Pod with the volume through which its containers reach the API server.
    pod: Pod,
    prepared: Prepared,
    states: Vec<State>,
    processes: Processes,
    /// The status that the API server has.
    written: Option<PodStatus>,
}

/// Runs a Pod until it is deleted.
pub(crate) async fn run(
    shared: Arc<Shared>,
    mut pods: watch::Receiver<Option<Arc<Pod>>>,
    reach: Arc<OnceLock<Reach>>,
    alone: Arc<Mutex<()>>,
) {
    let (sender, mut events) = mpsc::channel(EVENTS);
    let Some(pod) = pods.borrow_and_update().clone() else { return };
    let mut worker = Worker::new(shared, &pod, sender, reach, alone);
    let mut prepared = None;
    loop {
        let Some(pod) = pods.borrow_and_update().clone() else { return };
        worker.pod.metadata = pod.metadata.clone();
        worker.pod.status.clone_from(&pod.status);
        if pod.metadata.deletion_timestamp.is_some() {
            return worker.end(&mut events).await;
        }
        let now = worker.shared.clock.now();
        let is_due = prepared.is_none_or(|at: DateTime<Utc>| {
            now - at >= chrono::TimeDelta::from_std(REFRESH).unwrap_or_default()
        });
        let mut again = REFRESH;
        if is_due {
            match worker.prepared.prepare(&worker.shared, &pod, &mut worker.pod).await {
                Ok(()) => prepared = Some(now),
                Err(error) => {
                    worker.all_wait("CreateContainerConfigError", &format!("{error:#}"));
                    again = RETRY;
                }
            }
        }
        if prepared.is_some() {
            again = again.min(worker.go_on().await);
        }
        if let Err(error) = worker.write_status().await {
            tracing::warn!("the status of the Pod {} cannot be written: {error:#}", pod.name_any());
            again = RETRY;
        }
        tokio::select! {
            biased;
            Some(event) = events.recv() => worker.on(event),
            changed = pods.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(again) => {}
        }
    }
}

impl Worker {
    fn new(
        shared: Arc<Shared>,
        pod: &Pod,
        sender: mpsc::Sender<Event>,
        reach: Arc<OnceLock<Reach>>,
        alone: Arc<Mutex<()>>,
    ) -> Self {
        let mut states = State::all(pod);
        let old = pod.status.clone().unwrap_or_default();
        let before = old.container_statuses.iter().chain(&old.init_container_statuses).flatten();
        for status in before {
            let Some(state) = states.iter_mut().find(|state| state.name == status.name) else { continue };
            // The processes of an earlier server ended with it.
            let ran = status
                .state
                .as_ref()
                .is_some_and(|state| state.running.is_some() || state.terminated.is_some());
            state.restarts = status.restart_count + i32::from(ran);
        }
        let processes = Processes::new(shared.clone(), reach.clone(), states.len(), sender);
        let prepared = Prepared::new(reach, alone);
        Self { shared, pod: pod.clone(), prepared, states, processes, written: None }
    }

    /// Starts what is to be started, and returns when to look again.
    async fn go_on(&mut self) -> Duration {
        let now = self.shared.clock.now();
        let planned = plan(&self.pod, &self.states, now);
        for (at, until) in &planned.back_off {
            self.back_off(*at, *until);
        }
        for at in planned.stop {
            self.stop(at, grace(&self.pod));
        }
        let mut again = planned.wake.map_or(REFRESH, |wake| (wake - now).to_std().unwrap_or_default());
        for at in planned.start {
            if let Err(Refused { reason, error, until }) = self.start(at).await {
                let until = until.unwrap_or_else(|| self.shared.clock.now() + RETRY);
                again = again.min((until - self.shared.clock.now()).to_std().unwrap_or_default());
                self.wait(at, reason, &format!("{error:#}"), Some(until));
            }
        }
        again
    }

    async fn write_status(&mut self) -> Result<()> {
        let status =
            status(&self.pod, &self.states, self.prepared.address(), ADDRESS, self.shared.clock.now());
        if self.written.as_ref() == Some(&status) {
            return Ok(());
        }
        let pods: Api<Pod> =
            Api::namespaced(self.shared.client.clone(), &self.pod.namespace().unwrap_or_default());
        let patch = Patch::Merge(json!({"metadata": {"uid": self.pod.uid()}, "status": status}));
        pods.patch_status(&self.pod.name_any(), &PatchParams::default(), &patch).await?;
        self.written = Some(status);
        Ok(())
    }

    /// Ends a container within this time. The first call counts.
    fn stop(&mut self, at: usize, grace: Duration) {
        let Some((container, _)) = containers(&self.pod).nth(at) else { return };
        if self.processes.stop(at, container, grace) {
            let message = format!("Stopping container {}", container.name);
            self.shared.recorder.normal(&self.pod, &(), "Killing", message);
        }
    }

    /// Ends all containers within the Pod's grace period: the sidecars after the others, the last one first.
    async fn stop_all(&mut self, events: &mut mpsc::Receiver<Event>) {
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
            while batch.iter().any(|at| self.processes.is_running(*at)) {
                match tokio::time::timeout_at(end + 2 * LEAST, events.recv()).await {
                    Ok(Some(event)) => self.on(event),
                    Ok(None) | Err(_) => {
                        let pod = self.pod.name_any();
                        return tracing::warn!(
                            "containers of the Pod {pod} do not end in time; they are killed"
                        );
                    }
                }
            }
        }
    }

    /// Ends all processes within the Pod's grace period, and then removes the Pod.
    async fn end(mut self, events: &mut mpsc::Receiver<Event>) {
        self.stop_all(events).await;
        self.processes.kill_all();
        let pods: Api<Pod> =
            Api::namespaced(self.shared.client.clone(), &self.pod.namespace().unwrap_or_default());
        let parameters = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: self.pod.uid(), resource_version: None }),
            ..DeleteParams::default()
        };
        match pods.delete(&self.pod.name_any(), &parameters).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => tracing::warn!("the Pod {} cannot be removed: {error}", self.pod.name_any()),
            Ok(_) => {}
        }
    }
}
