//! Starts the process of a container: its image, its root folder, its files and its probes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::Result;
use container_images::{Root, Unpacked, User};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use pod_processes::Mount;

use super::Worker;
use crate::host::RESOLV_CONF;
use crate::needs::containers;
use crate::plan::moved_ports::wanted;
use crate::plan::{Facts, Planned, instruction, limits, user_name};
use crate::pod::container::Running;
use crate::pod::image::{Refused, image};
use crate::pod::place::Place;
use crate::pod::prepared::Prepared;
use crate::pod::private::make_private;
use crate::pod::processes::Event;
use crate::pod::program::Program;
use crate::pod::shared::Shared;
use crate::pod::state::{Hook, Phase};
use crate::root_copy;

impl Worker {
    pub(super) async fn start(&mut self, at: usize) -> Result<(), Refused> {
        let (container, _) = containers(&self.pod)
            .nth(at)
            .map(|(container, init)| (container.clone(), init))
            .unwrap_or_default();
        let image = image(&self.shared, &self.pod, &mut self.states[at], &container).await?;
        self.states[at].image_id =
            Some(format!("{}@{}", container.image.clone().unwrap_or_default(), image.id));
        let started = self.start_process(at, &container, &image).await;
        started.map_err(|error| Refused::new("CreateContainerConfigError", error))
    }

    async fn start_process(&mut self, at: usize, container: &Container, image: &Unpacked) -> Result<()> {
        let shared = self.shared.clone();
        let planned = planned(&shared, &self.pod, &self.prepared, container, image).await?;
        let group = shared.groups.make(&limits(container), shared.isolation)?;
        let state = &mut self.states[at];
        let was_started = matches!(state.phase, Phase::Terminated(_)) || state.last.is_some();
        if let Phase::Terminated(end) = &state.phase {
            state.last = Some(end.clone());
        }
        state.restarts += i32::from(was_started);
        let log = shared.log(&self.pod.uid().unwrap_or_default(), &container.name, state.restarts)?;
        let sender = self.processes.sender();
        let running = Running::start(planned, group, log, move |end| async move {
            drop(sender.send(Event::Ended(at, end)).await);
        })
        .await?;
        self.processes.add(at, running);
        let message = format!("Started container {}", container.name);
        shared.recorder.normal(&self.pod, &(), "Started", message);
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.clone());
        let started = container.startup_probe.is_none() && hook.is_none();
        state.phase = Phase::Running {
            since: shared.clock.now(),
            started,
            ready: started && container.readiness_probe.is_none(),
        };
        state.hook = if hook.is_some() { Hook::Runs } else { Hook::Done };
        match hook {
            Some(hook) => self.processes.begin_hook(at, container, hook),
            None => self.processes.probe(at, container),
        }
        Ok(())
    }
}

/// Makes the root folder and the files of a container, and returns what is to be run.
async fn planned(
    shared: &Shared,
    pod: &Pod,
    prepared: &Prepared,
    container: &Container,
    image: &Unpacked,
) -> Result<Planned> {
    let folder = shared.folder_of(pod);
    let root = folder.join(root_copy::ROOTS).join(&container.name);
    let (from, to) = (image.root.clone(), root.clone());
    prepared.change_folder(move || root_copy::copy(&from, &to)).await?;
    let user = User::find(&user_name(pod, container, &image.config)?, &Root::open(&root)?)?;
    let files = files(shared, pod, prepared, container)?;
    let place = prepared.place()?;
    let mut moves = place.moves();
    moves.retain(|port, _| wanted(container).contains(port));
    let program = Program { root: &root, container, image: &image.config };
    let (host, port) = place.api(shared);
    let server = format!("https://{host}:{port}");
    let mut variables = vec![
        ("KUBERNETES_SERVICE_HOST".to_owned(), host),
        ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
        ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), port.to_string()),
    ];
    variables.extend(place.proxies(shared, container));
    let facts = Facts {
        image: &image.config,
        user,
        isolation: shared.isolation,
        root: &root,
        volumes: prepared.volumes(),
        files: &files,
        config_maps: &prepared.found().config_maps,
        secrets: &prepared.found().secrets,
        variables: &variables,
        pod_ip: prepared.address().unwrap_or_default(),
        namespaces: place.namespaces(),
        moves: &moves,
        knows: &|flag| program.contains(flag),
    };
    let mut planned = instruction(pod, container, &facts)?;
    make_private(&folder, &container.name, &server, &mut planned)?;
    Ok(planned)
}

/// Returns the files that each container sees besides its volumes.
fn files(shared: &Shared, pod: &Pod, prepared: &Prepared, container: &Container) -> Result<Vec<Mount>> {
    let folder = shared.folder_of(pod).join("files").join(&container.name);
    fs::create_dir_all(&folder)?;
    let spec = pod.spec.clone().unwrap_or_default();
    let mut hosts = "# Written by firstlight.\n127.0.0.1\tlocalhost\n::1\tlocalhost\n".to_owned();
    hosts.push_str(&format!("{}\t{}\n", prepared.address().unwrap_or_default(), pod.name_any()));
    for alias in spec.host_aliases.iter().flatten() {
        hosts.push_str(&format!(
            "{}\t{}\n",
            alias.ip,
            alias.hostnames.clone().unwrap_or_default().join("\t")
        ));
    }
    let message = folder.join("termination-log");
    for (name, content) in
        [("hosts", hosts), ("hostname", format!("{}\n", pod.name_any())), ("termination-log", String::new())]
    {
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
    if let Place::Own(_) = prepared.place()? {
        let own = folder.join("resolv.conf");
        let namespace = pod.namespace().unwrap_or_default();
        fs::write(&own, shared.networks.resolv_conf(&namespace))?;
        mounts.push(mount(own, RESOLV_CONF, true));
    } else if fs::exists(RESOLV_CONF).unwrap_or_default() {
        mounts.push(mount(RESOLV_CONF.into(), RESOLV_CONF, true));
    }
    Ok(mounts)
}
