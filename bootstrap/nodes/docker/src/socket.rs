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

    /// Returns the variable that names its socket.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Docker => "DOCKER_HOST",
            Self::Podman => "CONTAINER_HOST",
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

/// Returns the sockets at which this engine may listen, in the order in which they are tried. `variable` has the environment of this process.
///
/// # Errors
/// The engine's variable, `DOCKER_HOST` or `CONTAINER_HOST`, names something else than a UNIX socket.
pub fn candidates(engine: Engine, variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<PathBuf>> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(host) = set(engine.variable()) {
        return Ok(vec![of_host(engine.variable(), &host)?]);
    }
    Ok(match engine {
        Engine::Docker => vec![PathBuf::from("/var/run/docker.sock")],
        Engine::Podman => {
            let own = set("XDG_RUNTIME_DIR").map(PathBuf::from);
            let own = own.map(|folder| folder.join("podman/podman.sock"));
            std::iter::once(PathBuf::from("/run/podman/podman.sock")).chain(own).collect()
        }
    })
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
