//! The life of a container: creation, start, pause, end, removal.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use http::{Method, StatusCode};
use node_runtime::Order;
use system_containers::balancer::{FOLDER, STATUS};
use system_containers::{Container, Init, Spec, State};

use super::Docker;
use crate::api::{Inspected, Made};
use crate::body::{self, LABEL_BALANCER, LABEL_NETWORK, Place};
use crate::client::{Refused, Sent, is_refused, unless_refused};
use crate::libpod::libpod_body;
use crate::socket::Engine;
use crate::{limits, network};

/// What Docker says of an address in a network that was made without a range.
const NO_RANGE: &str = "user configured subnets";

impl Docker {
    pub(crate) async fn create_container(&self, spec: &Spec) -> Result<Container> {
        spec.check()?;
        if let Some(found) = self.read(&spec.name).await? {
            self.check_owner(&found)?;
            bail!("name: there is a container of this name: remove it first, or use another name");
        }
        let image = match spec.init {
            Init::Balancer => self.balancer_image().await?,
            _ => spec.image.clone(),
        };
        let info = self.info().await?;
        let reserved = self.networks.reserve(&self.client, spec.address, Order::of(&spec.init)).await?;
        let place = Place {
            owner: self.owner.clone(),
            image,
            network: self.networks.name().to_owned(),
            address: reserved.address,
            user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            has_modules: Path::new(body::MODULES).is_dir(),
            maps_users: info.has_option("userns"),
        };
        let is_own_call = self.engine() == Engine::Podman && info.cgroup_version == "1";
        let (path, body) = match spec.init {
            Init::System | Init::Command(_) if is_own_call => {
                ("/libpod/containers/create".to_owned(), libpod_body(spec, &place))
            }
            _ => (format!("/containers/create?name={}", spec.name), body::body(spec, &place)),
        };
        let created: Result<Made> = self.client.post(&path, body, limits::CONTAINER).await;
        if let Err(error) = created {
            // The daemon may have created it without being able to say so.
            if !error.is::<Refused>() {
                self.remove_container(&spec.name).await.ok();
            }
            return Err(error);
        }
        Ok(self.container(&self.own(&spec.name).await?))
    }

    pub(crate) async fn start_container(&self, name: &str) -> Result<Container> {
        let before = self.container(&self.own(name).await?);
        if matches!(before.state, State::Running | State::Paused) {
            return Ok(before);
        }
        let path = format!("/containers/{name}/start");
        let started = self.client.call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await;
        if let Err(error) = started {
            return Err(self.explained(error));
        }
        let found = self.own(name).await?;
        let container = self.container(&found);
        if container.state != State::Running {
            return Err(self.ended(name, &container.state).await);
        }
        network::check(&found)?;
        if found.config.labels.contains_key(LABEL_BALANCER) {
            self.listens(name, &found).await?;
        }
        Ok(container)
    }

    /// Adds to an error what it means.
    fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        let (network, engine) = (self.networks.name(), self.engine().name().to_lowercase());
        match text.contains(NO_RANGE) {
            true => error.context(format!(
                "the network {network} was made without a range, so that no container keeps its address: remove it with `{engine} network rm {network}`, and it is made again with one, or name another network"
            )),
            false => error,
        }
    }

    /// Says how a container has ended that was just started.
    async fn ended(&self, name: &str, state: &State) -> anyhow::Error {
        let how = match state {
            State::Stopped { code: Some(code), .. } => format!("its init ended at once with status {code}"),
            other => format!("it is {}", other.word()),
        };
        let console = self.read_console(name, limits::CONSOLE).await.unwrap_or_default();
        let console = String::from_utf8_lossy(&console).trim().replace(['\r', '\n'], " ");
        match console.is_empty() {
            true => anyhow!("{how}"),
            false => anyhow!("{how}; the end of its console: {console}"),
        }
    }

    /// Waits until a balancer listens.
    async fn listens(&self, name: &str, found: &Inspected) -> Result<()> {
        let target = format!("{FOLDER}/{STATUS}");
        let mount = found.mounts.iter().find(|mount| mount.destination == target);
        let folder =
            mount.and_then(|mount| mount.source.parent()).context("it has no folder for its status")?;
        let listens = async {
            while node_balancer::read_status(folder).await.is_err() {
                let state = self.container(&self.own(name).await?).state;
                if state != State::Running {
                    return Err(self.ended(name, &state).await);
                }
                tokio::time::sleep(limits::LISTENS_AGAIN).await;
            }
            Ok(())
        };
        let late = || format!("it does not listen after {} s", limits::LISTENS.as_secs());
        tokio::time::timeout(limits::LISTENS, listens).await.with_context(late)?
    }

    pub(crate) async fn freeze(&self, name: &str, pause: bool) -> Result<()> {
        let container = self.container(&self.own(name).await?);
        match (&container.state, pause) {
            (State::Paused, true) => return Ok(()),
            (State::Running, true) | (State::Paused, false) => {}
            (State::Running, false) => return Ok(()),
            (other, _) => bail!("it does not run (it is {}): start it first", other.word()),
        }
        let path = format!("/containers/{name}/{}", if pause { "pause" } else { "unpause" });
        self.client.call(Method::POST, &path, Sent::Nothing, limits::CALL).await.map(drop)
    }

    pub(crate) async fn stop_container(&self, name: &str, grace: Duration) -> Result<()> {
        self.thaw_for_podman(name).await?;
        let path = format!("/containers/{name}/stop?t={}", grace.as_secs());
        self.client.call(Method::POST, &path, Sent::Nothing, grace + limits::CONTAINER).await.map(drop)
    }

    pub(crate) async fn kill_container(&self, name: &str) -> Result<()> {
        self.thaw_for_podman(name).await?;
        let path = format!("/containers/{name}/kill?signal=SIGKILL");
        let killed = self.client.call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await;
        if unless_refused(killed, &[StatusCode::CONFLICT])?.is_none() {
            // It does not run.
            return Ok(());
        }
        let path = format!("/containers/{name}/wait?condition=not-running");
        self.client.call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await.map(drop)
    }

    /// Lets a container go on that shall end: Podman refuses to end one that is paused.
    async fn thaw_for_podman(&self, name: &str) -> Result<()> {
        let found = self.own(name).await?;
        match self.engine() == Engine::Podman && self.container(&found).state == State::Paused {
            true => self.freeze(name, false).await,
            false => Ok(()),
        }
    }

    pub(crate) async fn remove_container(&self, name: &str) -> Result<()> {
        let Some(found) = self.read(name).await? else {
            // An earlier removal may have ended before this.
            return self.networks.tidy(&self.client, self.networks.name()).await;
        };
        self.check_owner(&found)?;
        let removed = async {
            loop {
                let call = self.client.remove_container(name).await;
                // It counts what is there afterwards: an error may be about a removal that somebody else has begun.
                match self.read(name).await? {
                    None => return Ok(()),
                    Some(left) if self.check_owner(&left).is_err() => return Ok(()),
                    Some(_) => {}
                }
                match call {
                    Err(error) if !is_refused(&error, StatusCode::CONFLICT) => return Err(error),
                    _ => tokio::time::sleep(limits::GONE_AGAIN).await,
                }
            }
        };
        tokio::time::timeout(limits::CONTAINER, removed).await.context("it does not go")??;
        if found.config.labels.contains_key(LABEL_BALANCER) {
            self.forget_image(&found.config.image).await?;
        }
        let network = found.config.labels.get(LABEL_NETWORK).map(String::as_str);
        self.networks.tidy(&self.client, network.unwrap_or(self.networks.name())).await
    }

    /// Removes the image of balancers unless another one needs it.
    async fn forget_image(&self, image: &str) -> Result<()> {
        let _alone = self.makes_program.lock().await;
        ensure!(!image.is_empty(), "the daemon does not say which image it had");
        let path = format!("/images/{image}");
        let removed = self.client.call(Method::DELETE, &path, Sent::Nothing, limits::CALL).await;
        unless_refused(removed, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]).map(drop)
    }
}
