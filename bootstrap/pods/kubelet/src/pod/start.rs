//! Starts the process of a container: its image, its root folder, its files and its probes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use container_images::{Root, Unpacked, User};
use k8s_openapi::api::core::v1::Container;
use kube::ResourceExt;
use pod_processes::Mount;
use tokio::sync::mpsc;

use super::container::Running;
use super::image::Refused;
use super::place::Place;
use super::state::Phase;
use super::worker::{Event, Worker};
use crate::host::RESOLV_CONF;
use crate::needs::containers;
use crate::plan::{Facts, instruction, user_name};
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
        let folder = shared.folder(&self.uid());
        let root = folder.join("roots").join(&container.name);
        let (from, to) = (image.root.clone(), root.clone());
        fs::create_dir_all(folder.join("roots"))
            .with_context(|| format!("cannot make {}", folder.display()))?;
        tokio::task::spawn_blocking(move || root_copy::copy(&from, &to)).await??;
        let user = User::find(&user_name(&self.pod, container, &image.config)?, &Root::open(&root)?)?;
        let files = self.files(container)?;
        let place = self.place.as_ref().context("the Pod has no network yet")?;
        let (host, port) = place.api(&shared);
        let variables = [
            ("KUBERNETES_SERVICE_HOST".to_owned(), host),
            ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
            ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), port.to_string()),
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
            pod_ip: self.pod_address(),
            namespaces: place.namespaces(),
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
        let mount =
            |source: PathBuf, target: &str, read_only| Mount { source, target: target.to_owned(), read_only };
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
                self.pod_address().to_owned(),
                self.shared.network.clone(),
                self.shared.clock.clone(),
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
}
