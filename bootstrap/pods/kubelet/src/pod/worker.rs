//! Performs the plan of one Pod: prepares volumes and images, starts and ends processes, and writes the status.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use container_images::{Name, Root, Sources, Store, Unpacked, User};
use k8s_openapi::api::core::v1::{Container, Pod, PodStatus};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use machinery::clock::Clock;
use parking_lot::Mutex;
use pod_processes::{Ended, Isolation, Mount};
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::container::{End, Running};
use super::plan::plan;
use super::state::{Phase, State, Termination};
use super::status::status;
use crate::gather::{Tokens, gather, wants_api_access};
use crate::logs::Log;
use crate::needs::{ROOT_CERTIFICATE, containers, root_certificate, with_api_access};
use crate::plan::{Facts, instruction, user_name};
use crate::probe::{self, Finding, Purpose};
use crate::root_copy;
use crate::volumes::{self, Found};

/// How often ConfigMaps, Secrets and tokens are read again. Kubernetes' kubelet needs up to a minute, too.
const REFRESH: Duration = Duration::from_secs(60);
/// How soon a Pod that could not be prepared is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// The time that a Pod has for its end if it names none.
const GRACE: i64 = 30;
/// The largest termination message in bytes.
const MESSAGE: usize = 4096;

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) images: Store,
    pub(crate) sources: Sources,
    pub(crate) isolation: Isolation,
    pub(crate) folder: PathBuf,
    pub(crate) api: (String, u16),
    pub(crate) authority: String,
    pub(crate) node: String,
    pub(crate) address: String,
    pub(crate) logs: Logs,
}

/// The logs of the containers that run, by their paths.
pub(crate) type Logs = Arc<Mutex<BTreeMap<PathBuf, Weak<Log>>>>;

impl Shared {
    fn folder(&self, uid: &str) -> PathBuf {
        self.folder.join(uid)
    }

    /// Creates the log of a start of a container, and removes those of the starts before the last one.
    fn log(&self, uid: &str, container: &str, start: i32) -> Result<Arc<Log>> {
        let folder = logs(&self.folder, uid, container);
        let path = folder.join(format!("{start}.log"));
        for ending in ["log", "old"] {
            fs::remove_file(folder.join(format!("{}.{ending}", start - 2))).ok();
        }
        let log = Log::create(&path, &self.clock)?;
        let mut logs = self.logs.lock();
        logs.retain(|_, log| log.strong_count() > 0);
        logs.insert(path, Arc::downgrade(&log));
        Ok(log)
    }

    /// Removes everything that a Pod had on this machine.
    pub(crate) fn discard(&self, uid: &str) {
        if let Err(error) = fs::remove_dir_all(self.folder(uid))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("the folder of a deleted Pod cannot be removed: {error}");
        }
    }
}

/// Returns the folder with the logs of a container of the Pod with this UID.
pub(crate) fn logs(folder: &Path, uid: &str, container: &str) -> PathBuf {
    folder.join(uid).join("logs").join(container)
}

enum Event {
    Ended(usize, End),
    Found(usize, Finding),
}

struct Worker {
    shared: Arc<Shared>,
    /// The Pod with the volume through which its containers reach the API server.
    pod: Pod,
    states: Vec<State>,
    running: Vec<Option<Running>>,
    sender: mpsc::UnboundedSender<Event>,
    tokens: Tokens,
    found: Found,
    volumes: BTreeMap<String, PathBuf>,
    /// Grows with each write of the volumes.
    generation: u64,
    written: Option<PodStatus>,
}

/// Runs a Pod until it is deleted.
pub(crate) async fn run(shared: Arc<Shared>, mut pods: watch::Receiver<Option<Arc<Pod>>>) {
    let (sender, mut events) = mpsc::unbounded_channel();
    let Some(pod) = pods.borrow_and_update().clone() else { return };
    let mut worker = Worker::new(shared, &pod, sender);
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
            Some(event) = events.recv() => worker.on(event),
            changed = pods.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(again) => {}
        }
    }
}

impl Worker {
    fn new(shared: Arc<Shared>, pod: &Pod, sender: mpsc::UnboundedSender<Event>) -> Self {
        let mut states: Vec<State> =
            containers(pod).map(|(container, is_init)| State::new(&container.name, is_init)).collect();
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
            states,
            running,
            sender,
            tokens: Tokens::default(),
            found: Found::default(),
            volumes: BTreeMap::new(),
            generation: 0,
            written: None,
        }
    }

    fn uid(&self) -> String {
        self.pod.metadata.uid.clone().unwrap_or_default()
    }

    /// Reads what the Pod needs, and writes its volumes.
    async fn prepare(&mut self, pod: &Pod) -> Result<()> {
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
        self.generation += 1;
        let spec = self.pod.spec.clone().unwrap_or_default();
        let group = spec.security_context.as_ref().and_then(|context| context.fs_group);
        let group = group.and_then(|group| u32::try_from(group).ok());
        for volume in spec.volumes.iter().flatten() {
            let content = volumes::content(volume, &self.pod, &shared.address, &self.found)?;
            let folder = shared.folder(&self.uid()).join("volumes").join(&volume.name);
            let path = volumes::write(&folder, &content, self.generation, group)?;
            self.volumes.insert(volume.name.clone(), path);
        }
        Ok(())
    }

    /// Starts what is to be started, and returns when to look again.
    async fn go_on(&mut self) -> Duration {
        let now = self.shared.clock.now();
        let planned = plan(&self.pod, &self.states, now);
        for (at, until) in &planned.back_off {
            self.back_off(*at, *until);
        }
        let mut again = planned.wake.map_or(REFRESH, |wake| (wake - now).to_std().unwrap_or_default());
        for at in planned.start {
            if let Err((reason, error)) = self.start(at).await {
                again = again.min(RETRY);
                self.wait(at, reason, &format!("{error:#}"), Some(now + RETRY));
            }
        }
        again
    }

    fn back_off(&mut self, at: usize, until: DateTime<Utc>) {
        let state = &mut self.states[at];
        let message =
            format!("back-off restarting failed container={} pod={}", state.name, self.pod.name_any());
        if let Phase::Terminated(end) = &state.phase {
            state.last = Some(end.clone());
        }
        self.wait(at, "CrashLoopBackOff", &message, Some(until));
    }

    fn wait(&mut self, at: usize, reason: &str, message: &str, until: Option<DateTime<Utc>>) {
        self.states[at].phase =
            Phase::Waiting { reason: reason.to_owned(), message: message.to_owned(), until };
    }

    fn all_wait(&mut self, reason: &str, message: &str) {
        for at in 0..self.states.len() {
            if matches!(self.states[at].phase, Phase::Waiting { .. }) {
                self.wait(at, reason, message, None);
            }
        }
    }

    async fn start(&mut self, at: usize) -> Result<(), (&'static str, anyhow::Error)> {
        let (container, _) = containers(&self.pod)
            .nth(at)
            .map(|(container, init)| (container.clone(), init))
            .unwrap_or_default();
        let image = self.image(&container).await?;
        self.states[at].image_id =
            Some(format!("{}@{}", container.image.clone().unwrap_or_default(), image.id));
        let started = self.start_process(at, &container, &image).await;
        started.map_err(|error| ("CreateContainerConfigError", error))
    }

    async fn image(&self, container: &Container) -> Result<Unpacked, (&'static str, anyhow::Error)> {
        let name: Name = container
            .image
            .clone()
            .unwrap_or_default()
            .parse()
            .map_err(|error| ("InvalidImageName", error))?;
        let (images, sources) = (self.shared.images.clone(), self.shared.sources.clone());
        let unpacked = tokio::task::spawn_blocking(move || {
            let (archive, image) = sources.find(&name, images.scratch())?;
            images.unpack(&archive, &image).with_context(|| format!("the image {name} cannot be used"))
        });
        let unpacked = unpacked.await.context("the image was not unpacked").and_then(|unpacked| unpacked);
        unpacked.map_err(|error| ("ErrImagePull", error))
    }

    async fn start_process(&mut self, at: usize, container: &Container, image: &Unpacked) -> Result<()> {
        let shared = self.shared.clone();
        let folder = shared.folder(&self.uid());
        let root = folder.join("roots").join(&container.name);
        let (from, to) = (image.root.clone(), root.clone());
        fs::create_dir_all(folder.join("roots"))
            .with_context(|| format!("cannot make {}", folder.display()))?;
        tokio::task::spawn_blocking(move || root_copy::copy(&from, &to)).await??;
        let user = User::find(&user_name(&self.pod, container, &image.config)?, &Root::open(&root)?)?;
        let files = self.files(container)?;
        let variables = [
            ("KUBERNETES_SERVICE_HOST".to_owned(), shared.api.0.clone()),
            ("KUBERNETES_SERVICE_PORT".to_owned(), shared.api.1.to_string()),
            ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), shared.api.1.to_string()),
        ];
        let facts = Facts {
            image: &image.config,
            user,
            isolation: shared.isolation,
            root: &root,
            volumes: &self.volumes,
            files: &files,
            config_maps: &self.found.config_maps,
            secrets: &self.found.secrets,
            variables: &variables,
            pod_ip: &shared.address,
        };
        let instruction = instruction(&self.pod, container, &facts)?;
        let state = &mut self.states[at];
        let was_started = matches!(state.phase, Phase::Terminated(_)) || state.last.is_some();
        if let Phase::Terminated(end) = &state.phase {
            state.last = Some(end.clone());
        }
        state.restarts += i32::from(was_started);
        let log = shared.log(&self.pod.uid().unwrap_or_default(), &container.name, state.restarts)?;
        let sender = self.sender.clone();
        let mut running =
            Running::start(instruction, log, move |end| drop(sender.send(Event::Ended(at, end)))).await?;
        running.probes = self.probes(at, container);
        let has = |probe: &Option<_>| probe.is_some();
        let started = !has(&container.startup_probe);
        self.states[at].phase = Phase::Running {
            since: shared.clock.now(),
            started,
            ready: started && !has(&container.readiness_probe),
        };
        self.running[at] = Some(running);
        Ok(())
    }

    /// Returns the files that each container sees besides its volumes.
    fn files(&self, container: &Container) -> Result<Vec<Mount>> {
        let folder = self.shared.folder(&self.uid()).join("files").join(&container.name);
        fs::create_dir_all(&folder)?;
        let spec = self.pod.spec.clone().unwrap_or_default();
        let mut hosts = "# Written by firstlight.\n127.0.0.1\tlocalhost\n::1\tlocalhost\n".to_owned();
        hosts.push_str(&format!("{}\t{}\n", self.shared.address, self.pod.name_any()));
        for alias in spec.host_aliases.iter().flatten() {
            hosts.push_str(&format!(
                "{}\t{}\n",
                alias.ip,
                alias.hostnames.clone().unwrap_or_default().join("\t")
            ));
        }
        let message = folder.join("termination-log");
        for (name, content) in [
            ("hosts", hosts),
            ("hostname", format!("{}\n", self.pod.name_any())),
            ("termination-log", String::new()),
        ] {
            fs::write(folder.join(name), content)?;
        }
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&message, fs::Permissions::from_mode(0o666))?;
        let mount =
            |source: PathBuf, target: &str, read_only| Mount { source, target: target.to_owned(), read_only };
        let path = container.termination_message_path.as_deref().unwrap_or("/dev/termination-log");
        let mut mounts = vec![
            mount(folder.join("hosts"), "/etc/hosts", true),
            mount(folder.join("hostname"), "/etc/hostname", true),
            mount(message, path, false),
        ];
        if fs::exists("/etc/resolv.conf").unwrap_or_default() {
            mounts.push(mount("/etc/resolv.conf".into(), "/etc/resolv.conf", true));
        }
        Ok(mounts)
    }

    fn probes(&self, at: usize, container: &Container) -> Vec<tokio::task::JoinHandle<()>> {
        let probes = [
            (Purpose::Startup, &container.startup_probe),
            (Purpose::Readiness, &container.readiness_probe),
            (Purpose::Liveness, &container.liveness_probe),
        ];
        let mut tasks = Vec::new();
        for (purpose, probe) in probes {
            let Some(probe) = probe.clone() else { continue };
            let (sender, mut findings) = mpsc::unbounded_channel();
            tasks.push(tokio::spawn(probe::run(
                purpose,
                probe,
                container.clone(),
                self.shared.address.clone(),
                sender,
            )));
            let events = self.sender.clone();
            tasks.push(tokio::spawn(async move {
                while let Some(finding) = findings.recv().await {
                    drop(events.send(Event::Found(at, finding)));
                }
            }));
        }
        tasks
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Ended(at, end) => self.on_end(at, &end),
            Event::Found(at, finding) => self.on_finding(at, &finding),
        }
    }

    fn on_end(&mut self, at: usize, end: &End) {
        self.running[at] = None;
        let since = match self.states[at].phase {
            Phase::Running { since, .. } => since,
            _ => return,
        };
        let code = end.ended.code();
        let name = self.states[at].name.clone();
        self.states[at].phase = Phase::Terminated(Termination {
            code,
            signal: match end.ended {
                Ended::Killed(signal) => Some(signal),
                Ended::Exited(_) => None,
            },
            reason: if code == 0 { "Completed" } else { "Error" }.to_owned(),
            message: self.message(&name, code, &end.output),
            started: since,
            finished: self.shared.clock.now(),
        });
    }

    /// Returns the termination message: what the container wrote to its file, or with `FallbackToLogsOnError` its last output.
    fn message(&self, name: &str, code: i32, output: &[u8]) -> String {
        let file = self.shared.folder(&self.uid()).join("files").join(name).join("termination-log");
        let mut message = fs::read(file).unwrap_or_default();
        let policy = containers(&self.pod).find(|(container, _)| container.name == name);
        let policy = policy.and_then(|(container, _)| container.termination_message_policy.clone());
        let falls_back = policy.as_deref() == Some("FallbackToLogsOnError") && code != 0;
        // What the shim says is the only word about a program that never started.
        if message.is_empty() && (falls_back || code == pod_processes::shim::CANNOT_START) {
            message = output.to_vec();
        }
        let start = message.len().saturating_sub(MESSAGE);
        String::from_utf8_lossy(&message[start..]).into_owned()
    }

    fn on_finding(&mut self, at: usize, finding: &Finding) {
        let has_readiness =
            containers(&self.pod).nth(at).is_some_and(|(container, _)| container.readiness_probe.is_some());
        let Phase::Running { started, ready, .. } = &mut self.states[at].phase else { return };
        match (finding.purpose, finding.is_good) {
            (Purpose::Startup, true) => {
                *started = true;
                *ready = *ready || !has_readiness;
            }
            (Purpose::Readiness, is_good) => *ready = is_good && *started,
            (Purpose::Liveness, true) => {}
            (Purpose::Startup | Purpose::Liveness, false) => {
                tracing::warn!(
                    "the container {} of the Pod {} is ended: {}",
                    self.states[at].name,
                    self.pod.name_any(),
                    finding.message
                );
                self.signal(at, Signal::TERM);
            }
        }
    }

    fn signal(&self, at: usize, signal: Signal) {
        if let Some(running) = self.running.get(at).and_then(Option::as_ref) {
            running.signal(signal);
        }
    }

    async fn write_status(&mut self) -> Result<()> {
        let status = status(
            &self.pod,
            &self.states,
            &self.shared.address,
            &self.shared.address,
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
    async fn end(mut self, events: &mut mpsc::UnboundedReceiver<Event>) {
        let seconds = self.pod.metadata.deletion_grace_period_seconds.unwrap_or(GRACE);
        let grace = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        (0..self.running.len()).for_each(|at| self.signal(at, Signal::TERM));
        let deadline = tokio::time::Instant::now() + grace;
        while self.running.iter().any(Option::is_some) {
            match tokio::time::timeout_at(deadline, events.recv()).await {
                Ok(Some(event)) => self.on(event),
                Ok(None) | Err(_) => break,
            }
        }
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
