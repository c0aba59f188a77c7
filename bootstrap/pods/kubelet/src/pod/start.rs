//! Starts the process of a container: its image, its root folder, its files and its probes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use container_images::{Root, Unpacked, User};
use k8s_openapi::api::core::v1::{Container, LifecycleHandler, Probe};
use kube::ResourceExt;
use pod_processes::Mount;
use tokio::sync::mpsc;

use super::container::Running;
use super::image::Refused;
use super::place::Place;
use super::program::Program;
use super::state::{Hook, Phase};
use super::worker::{Event, Worker};
use crate::host::RESOLV_CONF;
use crate::limits::EVENTS;
use crate::needs::containers;
use crate::plan::moved_ports::wanted;
use crate::plan::{Facts, instruction, limits, user_name};
use crate::probe::{self, Purpose};
use crate::root_copy;

impl Worker {
    pub(super) async fn start(&mut self, at: usize) -> Result<(), Refused> {
        let (container, _) = containers(&self.pod)
            .nth(at)
            .map(|(container, init)| (container.clone(), init))
            .unwrap_or_default();
        let image = self.image(at, &container).await?;
        self.states[at].image_id =
            Some(format!("{}@{}", container.image.clone().unwrap_or_default(), image.id));
        let started = self.start_process(at, &container, &image).await;
        started.map_err(|error| Refused::new("CreateContainerConfigError", error))
    }

    async fn start_process(&mut self, at: usize, container: &Container, image: &Unpacked) -> Result<()> {
        let shared = self.shared.clone();
        let root = shared.folder(&self.uid()).join(root_copy::ROOTS).join(&container.name);
        let (from, to) = (image.root.clone(), root.clone());
        self.change_folder(move || root_copy::copy(&from, &to)).await?;
        let user = User::find(&user_name(&self.pod, container, &image.config)?, &Root::open(&root)?)?;
        let files = self.files(container)?;
        let place = self.place.as_ref().context("the Pod has no network yet")?;
        let mut moves = place.moves();
        moves.retain(|port, _| wanted(container).contains(port));
        let program = Program { root: &root, container, image: &image.config };
        let (host, port) = place.api(&shared);
        let server = format!("https://{host}:{port}");
        let mut variables = vec![
            ("KUBERNETES_SERVICE_HOST".to_owned(), host),
            ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
            ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), port.to_string()),
        ];
        variables.extend(place.proxies(&shared, container));
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
            pod_ip: self.pod_address(),
            namespaces: place.namespaces(),
            moves: &moves,
            knows: &|flag| program.contains(flag),
        };
        let mut planned = instruction(&self.pod, container, &facts)?;
        self.make_private(&container.name, &server, &mut planned)?;
        let group = shared.groups.make(&limits(container), shared.isolation)?;
        let state = &mut self.states[at];
        let was_started = matches!(state.phase, Phase::Terminated(_)) || state.last.is_some();
        if let Phase::Terminated(end) = &state.phase {
            state.last = Some(end.clone());
        }
        state.restarts += i32::from(was_started);
        let log = shared.log(&self.pod.uid().unwrap_or_default(), &container.name, state.restarts)?;
        let sender = self.sender.clone();
        let running = Running::start(planned, group, log, move |end| async move {
            drop(sender.send(Event::Ended(at, end)).await);
        })
        .await?;
        self.running[at] = Some(running);
        self.normal("Started", format!("Started container {}", container.name));
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.clone());
        let started = container.startup_probe.is_none() && hook.is_none();
        self.states[at].phase = Phase::Running {
            since: shared.clock.now(),
            started,
            ready: started && container.readiness_probe.is_none(),
        };
        self.states[at].hook = if hook.is_some() { Hook::Runs } else { Hook::Done };
        match hook {
            Some(hook) => self.begin_hook(at, container, hook),
            None => self.probe(at, container),
        }
        Ok(())
    }

    /// Runs the hook `postStart`. Probes begin after it.
    fn begin_hook(&mut self, at: usize, container: &Container, hook: LifecycleHandler) {
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

    /// Returns the files that each container sees besides its volumes.
    fn files(&self, container: &Container) -> Result<Vec<Mount>> {
        let folder = self.shared.folder(&self.uid()).join("files").join(&container.name);
        fs::create_dir_all(&folder)?;
        let spec = self.pod.spec.clone().unwrap_or_default();
        let mut hosts = "# Written by firstlight.\n127.0.0.1\tlocalhost\n::1\tlocalhost\n".to_owned();
        hosts.push_str(&format!("{}\t{}\n", self.pod_address(), self.pod.name_any()));
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
        fs::set_permissions(&message, fs::Permissions::from_mode(0o666))?;
        let mount = |source: PathBuf, target: &str, read_only| Mount {
            source,
            below: String::new(),
            target: target.to_owned(),
            read_only,
        };
        let path = container.termination_message_path.as_deref().unwrap_or("/dev/termination-log");
        let mut mounts = vec![
            mount(folder.join("hosts"), "/etc/hosts", true),
            mount(folder.join("hostname"), "/etc/hostname", true),
            mount(message, path, false),
        ];
        if let Some(Place::Own(_)) = self.place {
            let own = folder.join("resolv.conf");
            let namespace = self.pod.namespace().unwrap_or_default();
            fs::write(&own, self.shared.networks.resolv_conf(&namespace))?;
            mounts.push(mount(own, RESOLV_CONF, true));
        } else if fs::exists(RESOLV_CONF).unwrap_or_default() {
            mounts.push(mount(RESOLV_CONF.into(), RESOLV_CONF, true));
        }
        Ok(mounts)
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
}
