//! Performs the plan of one Pod: prepares volumes and images, starts and ends processes, and writes the status.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::sync::{Mutex, mpsc, watch};

use super::container::{End, Running};
use super::image::Refused;
use super::place::{Place, Reach};
use super::plan::plan;
use super::shared::Shared;
use super::state::State;
use super::status::status;
use super::stop::grace;
use crate::gather::{Tokens, gather, wants_api_access};
use crate::host::ADDRESS;
use crate::limits::EVENTS;
use crate::needs::{ROOT_CERTIFICATE, root_certificate, with_api_access};
use crate::plan::Written;
use crate::probe::Finding;
use crate::volumes::{self, Found};

/// How often ConfigMaps, Secrets and tokens are read again. Kubernetes' kubelet needs up to a minute, too.
const REFRESH: Duration = Duration::from_secs(60);
/// How soon a Pod that could not be prepared is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Something that happened to a container, by its position.
pub(super) enum Event {
    /// Its process has ended.
    Ended(usize, End),
    /// A probe has found a change.
    Found(usize, Finding),
    /// Its hook `postStart` is done, or failed for this reason.
    Hooked(usize, Result<(), String>),
}

/// The worker of one Pod.
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    /// The Pod with the volume through which its containers reach the API server.
    pub(super) pod: Pod,
    /// Where its processes are, as soon as that is known.
    pub(super) place: Option<Place>,
    /// Where others reach the Pod.
    pub(super) reach: Arc<OnceLock<Reach>>,
    /// Locked while the Pod's folder is changed.
    alone: Arc<Mutex<()>>,
    pub(super) states: Vec<State>,
    pub(super) running: Vec<Option<Running>>,
    pub(super) sender: mpsc::Sender<Event>,
    tokens: Tokens,
    pub(super) found: Found,
    pub(super) volumes: BTreeMap<String, Written>,
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
            match worker.prepare(&pod).await {
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
        let running = states.iter().map(|_| None).collect();
        Self {
            shared,
            pod: pod.clone(),
            place: None,
            reach,
            alone,
            states,
            running,
            sender,
            tokens: Tokens::default(),
            found: Found::default(),
            volumes: BTreeMap::new(),
            written: None,
        }
    }

    pub(super) fn uid(&self) -> String {
        self.pod.metadata.uid.clone().unwrap_or_default()
    }

    /// Returns the address of the Pod.
    pub(super) fn pod_address(&self) -> &str {
        self.reach.get().map(|reach| reach.address.as_str()).unwrap_or_default()
    }

    /// Finds a place in the network, reads what the Pod needs, and writes its volumes.
    async fn prepare(&mut self, pod: &Pod) -> Result<()> {
        if self.place.is_none() {
            let place = Place::find(&self.shared, pod).await?;
            self.reach.set(place.reach()).ok();
            self.place = Some(place);
        }
        self.pod = if wants_api_access(&self.shared.client, pod).await? {
            with_api_access(pod.clone())
        } else {
            pod.clone()
        };
        let shared = self.shared.clone();
        self.found = gather(&shared.client, &shared.clock, &self.pod, &mut self.tokens).await?;
        self.found
            .config_maps
            .entry(ROOT_CERTIFICATE.to_owned())
            .or_insert_with(|| root_certificate(&shared.authority));
        let (pod, address) = (self.pod.clone(), self.pod_address().to_owned());
        let found = std::mem::take(&mut self.found);
        let folder = shared.folder(&self.uid()).join("volumes");
        // A large Secret is many files.
        let wrote = self.change_folder(move || {
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let written = volumes::write_all(&folder, &pod, &address, &found);
            Ok((found, written))
        });
        let (found, written) = wrote.await?;
        self.found = found;
        self.volumes = written?;
        Ok(())
    }

    /// Changes the Pod's folder in a thread of its own, which ends before the folder of a deleted Pod is removed.
    pub(super) async fn change_folder<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let alone = self.alone.clone().lock_owned().await;
        let changed = tokio::task::spawn_blocking(move || {
            let changed = change();
            drop(alone);
            changed
        });
        changed.await?
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
        let status = status(
            &self.pod,
            &self.states,
            self.reach.get().map(|reach| reach.address.as_str()),
            ADDRESS,
            self.shared.clock.now(),
        );
        if self.written.as_ref() == Some(&status) {
            return Ok(());
        }
        let pods: Api<Pod> =
            Api::namespaced(self.shared.client.clone(), &self.pod.namespace().unwrap_or_default());
        let patch = Patch::Merge(json!({"metadata": {"uid": self.uid()}, "status": status}));
        pods.patch_status(&self.pod.name_any(), &PatchParams::default(), &patch).await?;
        self.written = Some(status);
        Ok(())
    }

    /// Ends all processes within the Pod's grace period, and then removes the Pod.
    async fn end(mut self, events: &mut mpsc::Receiver<Event>) {
        self.stop_all(events).await;
        // Dropping what still runs kills it.
        self.running.clear();
        let pods: Api<Pod> =
            Api::namespaced(self.shared.client.clone(), &self.pod.namespace().unwrap_or_default());
        let parameters = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(self.uid()), resource_version: None }),
            ..DeleteParams::default()
        };
        match pods.delete(&self.pod.name_any(), &parameters).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => tracing::warn!("the Pod {} cannot be removed: {error}", self.pod.name_any()),
            Ok(_) => {}
        }
    }
}
