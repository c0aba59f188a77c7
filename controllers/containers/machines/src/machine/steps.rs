//! The steps that bring up a machine, and how each is done. Every step looks first at what is there, so it may be begun again at any time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use node_bootstrap::Report;
use system_containers::{Container, Exit, Image, Images, Mount, Runtime, Spec, State, run};

use super::tasks::Say;
use crate::limits;
use crate::nodes::Parts;

/// A step that brings up a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The image is found, or pulled.
    Image(String),
    /// The container is created and started.
    Create,
    /// The init of the container has started all units, and containerd answers.
    Ready,
    /// An image is imported.
    Import(String),
    /// The bootstrap is run until its end.
    Bootstrap,
}

/// What a step that has succeeded has left.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// Nothing but what is seen in the container.
    Step,
    /// The image.
    Image(Image),
    /// How the bootstrap has ended.
    Bootstrap(Report),
}

/// What a container is made of, besides its image.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The name of the container.
    pub name: String,
    /// The labels of the container.
    pub labels: BTreeMap<String, String>,
    /// Variables of all programs in it.
    pub environment: BTreeMap<String, String>,
    /// Files and folders of this machine that it sees.
    pub mounts: Vec<Mount>,
}

/// Finds an image, which is made for this version of Kubernetes if it says one.
pub(super) async fn image(parts: &Parts, name: &str, version: Option<&str>, say: Say) -> Result<Done> {
    let image = parts.images.find(name, say.as_ref()).await?;
    if let Some(version) = version {
        image.check_kubernetes(name, version)?;
    }
    Ok(Done::Image(image))
}

/// Creates and starts a container. One of this name that does not run is removed before: it was never a node.
pub(super) async fn create(parts: &Parts, wanted: &Wanted, image: &Image) -> Result<Done> {
    let runtime = &parts.runtime;
    if let Some(found) = runtime.inspect(&wanted.name).await? {
        let is_same = wanted.labels.iter().all(|(key, value)| found.labels.get(key) == Some(value));
        ensure!(is_same, "the container {} belongs to something else", wanted.name);
        match found.state {
            State::Running | State::Paused => return Ok(Done::Step),
            State::Created => {
                runtime.start(&wanted.name).await?;
                return Ok(Done::Step);
            }
            _ => runtime.remove(&wanted.name).await?,
        }
    }
    for mount in &wanted.mounts {
        ensure!(
            runtime.has(&mount.source).await,
            "spec.backend.docker.extraMounts: {} is not on this machine: make it first",
            mount.source.display()
        );
    }
    let mut spec = Spec::of(&wanted.name, image);
    spec.labels.clone_from(&wanted.labels);
    spec.environment.extend(wanted.environment.clone());
    spec.mounts.clone_from(&wanted.mounts);
    runtime.create(&spec).await?;
    if let Err(error) = runtime.start(&wanted.name).await {
        // The next attempt begins with a new one.
        runtime.remove(&wanted.name).await.ok();
        return Err(error);
    }
    Ok(Done::Step)
}

/// Waits until all units of a node have started, and containerd answers.
pub(super) async fn ready(parts: &Parts, name: &str) -> Result<Done> {
    let script = "until systemctl --quiet is-active multi-user.target && crictl ps >/dev/null 2>&1; do sleep 0.1; done";
    let waited = run(parts.runtime.as_ref(), name, &["/bin/sh", "-c", script], b"", limits::READY).await?;
    match waited.exit {
        Exit::Code(0) => Ok(Done::Step),
        Exit::Code(code) => bail!("exited with status: {code}: {}", last_line(&waited.stderr)),
        Exit::TimedOut => {
            let units = ["/bin/sh", "-c", "systemctl list-jobs --no-legend; systemctl --failed --no-legend"];
            let units = run(parts.runtime.as_ref(), name, &units, b"", limits::COMMAND).await?;
            let units = String::from_utf8_lossy(&units.stdout).lines().take(5).collect::<Vec<_>>().join("; ");
            bail!(
                "its units have not started, or crictl ps does not answer, after {} s: {units}",
                limits::READY.as_secs()
            )
        }
    }
}

/// Imports an image into a node.
///
/// # Errors
/// The image is nowhere, or containerd refuses it.
pub async fn import(runtime: &dyn Runtime, images: &dyn Images, name: &str, image: &str) -> Result<()> {
    let archive = images.archive(image).await?;
    let mut stderr = Vec::new();
    let command = ["ctr", "--namespace=k8s.io", "images", "import", "-"];
    let exec = system_containers::Exec {
        command: command.map(str::to_owned).to_vec(),
        environment: BTreeMap::new(),
        stdin: archive,
        stdout: Box::new(tokio::io::sink()),
        stderr: Box::new(&mut stderr),
        time_limit: limits::IMPORT,
    };
    match runtime.exec(name, exec).await? {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => {
            bail!("ctr images import exited with status: {code}: {}", last_line(&stderr))
        }
        Exit::TimedOut => bail!("ctr images import has not ended after {} s", limits::IMPORT.as_secs()),
    }
}

pub(super) fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

/// Returns the start of a container that its results belong to.
pub(super) fn start_of(container: Option<&Container>) -> String {
    let started = container.and_then(|container| container.started);
    started.map(|started| started.to_rfc3339()).unwrap_or_default()
}

/// Returns a mount of a machine; `None` if a path is missing.
pub(super) fn mount(mount: &schemas::infrastructure::Mount) -> Option<Mount> {
    Some(Mount {
        source: PathBuf::from(mount.host_path.as_deref()?),
        target: mount.container_path.clone()?,
        read_only: mount.read_only.unwrap_or_default(),
    })
}
