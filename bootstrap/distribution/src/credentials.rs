//! Users and passwords of registries, in the form of Docker's configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// The registry under whose name Docker keeps the credentials of Docker Hub.
const DOCKER_HUB: &str = "index.docker.io";

/// A user with a password. It is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

/// Credentials by registry and, if they are only for a part of it, the beginning of the path.
#[derive(Clone, Default)]
pub struct Credentials(Vec<(String, Login)>);

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
}

impl Credentials {
    /// Reads a `config.json` of Docker, which Secrets of the type `kubernetes.io/dockerconfigjson` have, too.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_docker_config(content: &[u8]) -> Result<Self> {
        let read = |content| -> serde_json::Result<Option<BTreeMap<String, Entry>>> {
            let mut file: BTreeMap<String, Value> = serde_json::from_slice(content)?;
            file.remove("auths").map(serde_json::from_value).transpose()
        };
        let auths = read(content).context("it is no configuration of Docker")?;
        Ok(Self::of(auths.unwrap_or_default()))
    }

    /// Reads a `.dockercfg`, the older form, which Secrets of the type `kubernetes.io/dockercfg` have.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_dockercfg(content: &[u8]) -> Result<Self> {
        Ok(Self::of(serde_json::from_slice(content).context("it is no configuration of Docker")?))
    }

    /// The credentials of one registry.
    pub fn of_registry(registry: &str, login: Login) -> Self {
        Self(vec![(place(registry), login)])
    }

    /// Reads the configuration of Docker that the user of this process has: `$DOCKER_CONFIG/config.json`, or `~/.docker/config.json`.
    pub fn of_this_user() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("DOCKER_CONFIG").or_else(|| Some(set("HOME")?.join(".docker")));
        let Some(path) = folder.map(|folder| folder.join("config.json")) else { return Self::default() };
        let Ok(content) = std::fs::read(&path) else { return Self::default() };
        Self::of_docker_config(&content).unwrap_or_else(|error| {
            tracing::warn!("{} is not used: {error:#}", path.display());
            Self::default()
        })
    }

    /// Adds further credentials; those that are there count more.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn of(entries: BTreeMap<String, Entry>) -> Self {
        let login = |entry: Entry| {
            if !entry.username.is_empty() {
                return Some(Login { user: entry.username, password: entry.password });
            }
            let text = String::from_utf8(STANDARD.decode(entry.auth.trim()).ok()?).ok()?;
            let (user, password) = text.split_once(':')?;
            Some(Login { user: user.to_owned(), password: password.trim_end_matches('\0').to_owned() })
        };
        let all = entries.into_iter().filter_map(|(key, entry)| Some((place(&key), login(entry)?)));
        Self(all.collect())
    }

    /// Returns the credentials for a repository, for example `registry.example:5000/team/image`. Those for the longest path count.
    pub fn find(&self, repository: &str) -> Option<&Login> {
        let found = self.0.iter().filter(|(place, _)| is_below(repository, place));
        // The first of the same length.
        found.rev().max_by_key(|(place, _)| place.len()).map(|(_, login)| login)
    }
}

/// The host and path of a key, which may be written as an address.
fn place(key: &str) -> String {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest).trim_end_matches('/');
    // Docker writes the address of the API for its own registry.
    let rest = rest.strip_suffix("/v1").or_else(|| rest.strip_suffix("/v2")).unwrap_or(rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = if host == DOCKER_HUB || host == "registry-1.docker.io" { "docker.io" } else { host };
    if path.is_empty() { host.to_owned() } else { format!("{host}/{path}") }
}

/// Whether credentials for `place` are for this repository. A part of the host's name may be `*`.
fn is_below(repository: &str, place: &str) -> bool {
    let split = |text: &str| {
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        (host.to_owned(), path.to_owned())
    };
    let ((host, path), (wanted, below)) = (split(repository), split(place));
    let parts = |host: &str| host.split(['.', ':']).map(str::to_owned).collect::<Vec<_>>();
    let (host, wanted) = (parts(&host), parts(&wanted));
    let is_host = host.len() == wanted.len()
        && host.iter().zip(&wanted).all(|(part, wanted)| wanted == "*" || part == wanted);
    let rest = path.strip_prefix(&below);
    is_host && (below.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}
