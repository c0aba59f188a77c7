//! What runs the nodes, opened.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use container_images::{Client, Credentials, Hosts, Registries, Sources};
use machinery::clock::Clock;
use machinery::random::Random;
use node_docker::{Docker, Engine};
use node_images::NodeImages;
use node_runtime::LinuxRuntime;
use node_runtime::groups::{self, Version};
use system_containers::{Images, Runtime};

use super::itself::WithItself;
use super::{Choice, Settings};

/// The folder of the images of nodes, in the folder of nodes.
const IMAGES: &str = "images";
/// The folder of what is kept for Docker and Podman there.
const DOCKER: &str = "docker";

/// What runs nodes.
pub enum Opened {
    /// This program itself.
    Own(Arc<LinuxRuntime>),
    /// Docker or Podman.
    Docker(Choice, Arc<Docker>),
}

impl Opened {
    /// Returns what it is.
    pub fn choice(&self) -> Choice {
        match self {
            Self::Own(_) => Choice::Own,
            Self::Docker(choice, _) => *choice,
        }
    }

    /// Returns what runs containers.
    pub fn runtime(&self) -> Arc<dyn Runtime> {
        match self {
            Self::Own(runtime) => runtime.clone(),
            Self::Docker(_, docker) => docker.clone(),
        }
    }

    /// Returns what has their images. That of this program is one of them, under its default name.
    ///
    /// # Errors
    /// The folder of the images cannot be used.
    pub fn images(&self, settings: &Settings, clock: &Clock) -> Result<Arc<dyn Images>> {
        let images: Arc<dyn Images> = match self {
            Self::Own(_) => Arc::new(settings.own_images(clock)?),
            Self::Docker(_, docker) => docker.clone(),
        };
        Ok(Arc::new(WithItself::new(images)))
    }

    /// Returns whether the machine has version 1 of control groups.
    ///
    /// # Errors
    /// The machine has no control groups, or the daemon does not answer.
    pub async fn has_cgroups_v1(&self) -> Result<bool> {
        match self {
            Self::Own(_) => Ok(groups::version()? == Version::One),
            Self::Docker(_, docker) => docker.has_cgroups_v1().await,
        }
    }
}

impl Settings {
    /// Opens what runs the nodes: what the settings name, what has run them so far, or the first that can.
    ///
    /// # Errors
    /// It cannot run nodes, or nothing can: the error says everything that hinders them, and what to do.
    pub async fn choose(&self, clock: &Clock, random: &Random) -> Result<Opened> {
        let chosen = match Choice::named(self.runtime)? {
            None => Choice::remembered(&self.folder)?,
            named => named,
        };
        match chosen {
            Some(choice) => self.checked(choice, clock, random).await,
            None => self.first(clock, random).await,
        }
    }

    async fn first(&self, clock: &Clock, random: &Random) -> Result<Opened> {
        let mut reasons = Vec::new();
        for choice in Choice::ALL {
            match self.checked(choice, clock, random).await {
                Ok(opened) => return Ok(opened),
                Err(error) => reasons.push(format!("--node-runtime {}: {error:#}", choice.word())),
            }
        }
        bail!("nothing on this machine can run nodes: {}", reasons.join("; "))
    }

    async fn checked(&self, choice: Choice, clock: &Clock, random: &Random) -> Result<Opened> {
        let opened = self.open(choice, clock, random).await?;
        container_machines::check(opened.runtime().as_ref()).await?;
        Ok(opened)
    }

    /// Opens what runs nodes, whatever hinders it.
    ///
    /// # Errors
    /// This process is not root's, or its folder or its socket cannot be used.
    pub async fn open(&self, choice: Choice, clock: &Clock, random: &Random) -> Result<Opened> {
        let engine = match choice {
            Choice::Own => {
                ensure!(
                    rustix::process::geteuid().is_root(),
                    "without Docker or Podman, nodes are root's: start this program with sudo, and with the same data directory"
                );
                let (data, range) = (self.folder.clone(), self.range);
                let (clock, random) = (clock.clone(), random.clone());
                let options = node_runtime::Options { data, range, clock, random, steps: |_, _| {} };
                return Ok(Opened::Own(Arc::new(LinuxRuntime::open(options).await?)));
            }
            Choice::Docker => Engine::Docker,
            Choice::Podman => Engine::Podman,
        };
        let docker = Docker::open(node_docker::Options {
            data: self.folder.join(DOCKER),
            engine,
            socket: None,
            network: self.docker_network.clone(),
            range: self.range,
            sources: Sources::new(self.images.clone()),
            credentials: Credentials::of_this_user(),
            program: metal_boot::images::program::of_this_process,
            random: random.clone(),
        });
        Ok(Opened::Docker(choice, Arc::new(docker.await?)))
    }

    fn own_images(&self, clock: &Clock) -> Result<NodeImages> {
        let client = Client::new(Hosts::new(self.registry_hosts.clone()), clock.clone());
        NodeImages::open(node_images::Options {
            data: self.folder.join(IMAGES),
            sources: Sources::new(self.images.clone()),
            registries: Arc::new(Registries::new(client)),
            credentials: Credentials::of_this_user(),
            clock: clock.clone(),
        })
    }
}
