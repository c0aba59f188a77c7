//! The life of a container: creation, start, pause, end, removal.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use http::{Method, StatusCode};
use node_runtime::Order;
use system_containers::balancer::{FOLDER, STATUS};
use system_containers::{Container, Init, Spec, State};

use super::containers::Containers;
use super::program::BalancerImage;
use crate::api::{Inspected, Made};
use crate::body::{self, LABEL_BALANCER, LABEL_NETWORK, Place};
use crate::client::{Client, Refused, Sent, is_refused, unless_refused};
use crate::libpod::libpod_body;
use crate::limits;
use crate::network::{self, Networks};
use crate::socket::Engine;

/// What Docker says of an address in a network that was made without a range.
const NO_RANGE: &str = "user configured subnets";

pub(super) async fn create(
    containers: &Containers,
    networks: &Networks,
    balancer: &BalancerImage,
    spec: &Spec,
) -> Result<Container> {
    let client = containers.client();
    spec.check()?;
    if let Some(found) = containers.read(&spec.name).await? {
        containers.check_owner(&found)?;
        bail!("name: there is a container of this name: remove it first, or use another name");
    }
    let image = match spec.init {
        Init::Balancer => balancer.find_or_make(client).await?,
        _ => spec.image.clone(),
    };
    let info = client.info().await?;
    let reserved = networks.reserve(client, spec.address, Order::of(&spec.init)).await?;
    let place = Place {
        owner: containers.owner().to_owned(),
        image,
        network: networks.name().to_owned(),
        address: reserved.address,
        user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        has_modules: Path::new(body::MODULES).is_dir(),
        maps_users: info.has_option("userns"),
    };
    let is_own_call = client.engine() == Engine::Podman && info.cgroup_version == "1";
    let (path, body) = match spec.init {
        Init::System | Init::Command(_) if is_own_call => {
            ("/libpod/containers/create".to_owned(), libpod_body(spec, &place))
        }
        _ => (format!("/containers/create?name={}", spec.name), body::body(spec, &place)),
    };
    let created: Result<Made> = client.post(&path, body, limits::CONTAINER).await;
    if let Err(error) = created {
        // The daemon may have created the container although its answer was lost.
        if !error.is::<Refused>() {
            remove(containers, networks, balancer, &spec.name).await.ok();
        }
        return Err(error);
    }
    Ok(containers.container(&containers.own(&spec.name).await?))
}

pub(super) async fn start(containers: &Containers, networks: &Networks, name: &str) -> Result<Container> {
    let before = containers.container(&containers.own(name).await?);
    if matches!(before.state, State::Running | State::Paused) {
        return Ok(before);
    }
    let path = format!("/containers/{name}/start");
    let started = containers.client().call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await;
    if let Err(error) = started {
        return Err(explained(containers.client(), networks, error));
    }
    let found = containers.own(name).await?;
    let container = containers.container(&found);
    if container.state != State::Running {
        return Err(ended(containers, name, &container.state).await);
    }
    network::check(&found)?;
    if found.config.labels.contains_key(LABEL_BALANCER) {
        listens(containers, name, &found).await?;
    }
    Ok(container)
}

/// Adds to an error what it means.
fn explained(client: &Client, networks: &Networks, error: anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    let (network, engine) = (networks.name(), client.engine().name().to_lowercase());
    match text.contains(NO_RANGE) {
        true => error.context(format!(
            "the network {network} was made without a range, so that no container keeps its address: remove it with `{engine} network rm {network}`, and it is made again with one, or name another network"
        )),
        false => error,
    }
}

/// Says how a container has ended that was just started.
async fn ended(containers: &Containers, name: &str, state: &State) -> anyhow::Error {
    let how = match state {
        State::Stopped { code: Some(code), .. } => format!("its init ended at once with status {code}"),
        other => format!("it is {}", other.word()),
    };
    let console = containers.console(name, limits::CONSOLE).await.unwrap_or_default();
    let console = String::from_utf8_lossy(&console).trim().replace(['\r', '\n'], " ");
    match console.is_empty() {
        true => anyhow!("{how}"),
        false => anyhow!("{how}; the end of its console: {console}"),
    }
}

/// Waits until a balancer listens.
async fn listens(containers: &Containers, name: &str, found: &Inspected) -> Result<()> {
    let target = format!("{FOLDER}/{STATUS}");
    let mount = found.mounts.iter().find(|mount| mount.destination == target);
    let folder = mount.and_then(|mount| mount.source.parent()).context("it has no folder for its status")?;
    let listens = async {
        while node_balancer::read_status(folder).await.is_err() {
            let state = containers.container(&containers.own(name).await?).state;
            if state != State::Running {
                return Err(ended(containers, name, &state).await);
            }
            tokio::time::sleep(limits::LISTENS_AGAIN).await;
        }
        Ok(())
    };
    let late = || format!("it does not listen after {} s", limits::LISTENS.as_secs());
    tokio::time::timeout(limits::LISTENS, listens).await.with_context(late)?
}

pub(super) async fn freeze(containers: &Containers, name: &str, pause: bool) -> Result<()> {
    let container = containers.container(&containers.own(name).await?);
    match (&container.state, pause) {
        (State::Paused, true) => return Ok(()),
        (State::Running, true) | (State::Paused, false) => {}
        (State::Running, false) => return Ok(()),
        (other, _) => bail!("it does not run (it is {}): start it first", other.word()),
    }
    let path = format!("/containers/{name}/{}", if pause { "pause" } else { "unpause" });
    containers.client().call(Method::POST, &path, Sent::Nothing, limits::CALL).await.map(drop)
}

pub(super) async fn stop(containers: &Containers, name: &str, grace: Duration) -> Result<()> {
    thaw_for_podman(containers, name).await?;
    let path = format!("/containers/{name}/stop?t={}", grace.as_secs());
    containers.client().call(Method::POST, &path, Sent::Nothing, grace + limits::CONTAINER).await.map(drop)
}

pub(super) async fn kill(containers: &Containers, name: &str) -> Result<()> {
    thaw_for_podman(containers, name).await?;
    let path = format!("/containers/{name}/kill?signal=SIGKILL");
    let killed = containers.client().call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await;
    if unless_refused(killed, &[StatusCode::CONFLICT])?.is_none() {
        // It does not run.
        return Ok(());
    }
    let path = format!("/containers/{name}/wait?condition=not-running");
    containers.client().call(Method::POST, &path, Sent::Nothing, limits::CONTAINER).await.map(drop)
}

/// Lets a container go on that shall end: Podman refuses to end one that is paused.
async fn thaw_for_podman(containers: &Containers, name: &str) -> Result<()> {
    let found = containers.own(name).await?;
    match containers.client().engine() == Engine::Podman
        && containers.container(&found).state == State::Paused
    {
        true => freeze(containers, name, false).await,
        false => Ok(()),
    }
}

pub(super) async fn remove(
    containers: &Containers,
    networks: &Networks,
    balancer: &BalancerImage,
    name: &str,
) -> Result<()> {
    let client = containers.client();
    let Some(found) = containers.read(name).await? else {
        // An earlier removal may have ended before this.
        return networks.tidy(client, networks.name()).await;
    };
    containers.check_owner(&found)?;
    let removed = async {
        loop {
            let call = client.remove_container(name).await;
            // It counts what is there afterwards: an error may be about a removal that somebody else has begun.
            match containers.read(name).await? {
                None => return Ok(()),
                Some(left) if containers.check_owner(&left).is_err() => return Ok(()),
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
        balancer.forget(client, &found.config.image).await?;
    }
    let network = found.config.labels.get(LABEL_NETWORK).map(String::as_str);
    networks.tidy(client, network.unwrap_or(networks.name())).await
}
