//! Where the daemon listens.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use tokio::net::UnixStream;

/// A program that answers to Docker's Engine API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Docker, or what has its socket.
    Docker,
    /// Podman.
    Podman,
}

impl Engine {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
        }
    }

    /// Returns how to start it.
    pub(crate) fn start(self) -> &'static str {
        match self {
            Self::Docker => "start it with `systemctl start docker`",
            Self::Podman => "start it with `systemctl start podman.socket`",
        }
    }
}

/// Returns the sockets at which this engine listens, or at which one of both does, in the order in which they are tried. `variable` has the
/// environment of this process.
///
/// # Errors
/// `DOCKER_HOST` or `CONTAINER_HOST` names something else than a UNIX socket.
pub fn candidates(
    engine: Option<Engine>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<PathBuf>> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut found = Vec::new();
    let wants = |wanted| engine.is_none_or(|engine| engine == wanted);
    if wants(Engine::Docker) {
        match set("DOCKER_HOST") {
            Some(host) => return Ok(vec![of_host("DOCKER_HOST", &host)?]),
            None => found.push(PathBuf::from("/var/run/docker.sock")),
        }
    }
    if wants(Engine::Podman) {
        match set("CONTAINER_HOST") {
            Some(host) => found.push(of_host("CONTAINER_HOST", &host)?),
            None => {
                found.push(PathBuf::from("/run/podman/podman.sock"));
                let own = set("XDG_RUNTIME_DIR").map(PathBuf::from);
                found.extend(own.map(|folder| folder.join("podman/podman.sock")));
            }
        }
    }
    Ok(found)
}

fn of_host(name: &str, host: &OsString) -> Result<PathBuf> {
    let host = host.to_string_lossy();
    match host.strip_prefix("unix://") {
        Some(path) if path.starts_with('/') => Ok(PathBuf::from(path)),
        _ => bail!(
            "{name} is {host:?}, and nodes can only be run by a daemon of this machine: set it to unix:// and the path of its socket"
        ),
    }
}

/// Connects to a socket.
pub(crate) async fn connect(path: &Path, engine: Engine) -> Result<UnixStream> {
    UnixStream::connect(path).await.map_err(|error| why(path, engine, &error))
}

fn why(path: &Path, engine: Engine, error: &std::io::Error) -> anyhow::Error {
    let (name, place) = (engine.name(), path.display());
    match error.kind() {
        ErrorKind::NotFound => anyhow!("{name} is not here: there is no socket {place}"),
        ErrorKind::PermissionDenied => anyhow!(
            "{name}'s socket {place} is not this user's: start this program as root, or add the user to the group of the socket"
        ),
        ErrorKind::ConnectionRefused => {
            anyhow!("{name} does not run: nobody listens at {place}: {}", engine.start())
        }
        _ => anyhow!("{name} cannot be reached at {place}: {error}"),
    }
}
