//! The answers of Docker's Engine API, with the fields that are used here (docs.docker.com/reference/api/engine). Podman's have the same names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};

use crate::socket::Engine;

/// Podman writes null for what is empty.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// `GET /version`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Version {
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) api_version: String,
    #[serde(default, rename = "MinAPIVersion")]
    pub(crate) min_api_version: String,
    #[serde(default, deserialize_with = "or_default")]
    components: Vec<Component>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Component {
    name: String,
}

impl Version {
    pub(crate) fn engine(&self) -> Engine {
        let is_podman = self.components.iter().any(|component| component.name.starts_with("Podman"));
        if is_podman { Engine::Podman } else { Engine::Docker }
    }
}

/// `GET /info`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Info {
    #[serde(deserialize_with = "or_default")]
    pub(crate) driver: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) cgroup_version: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) default_runtime: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) operating_system: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) security_options: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) server_version: String,
    pub(crate) rootless: bool,
}

impl Info {
    /// Returns whether the daemon has this option, as `rootless` or `userns`.
    pub(crate) fn has_option(&self, name: &str) -> bool {
        let option = format!("name={name}");
        self.security_options.iter().any(|found| found.split(',').any(|part| part == option))
    }
}

/// `POST /containers/create`, `POST /containers/NAME/exec`, `POST /networks/create`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Made {
    pub(crate) id: String,
}

/// An entry of `GET /containers/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) labels: BTreeMap<String, String>,
}

/// `GET /containers/NAME/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Inspected {
    pub(crate) name: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) state: ContainerState,
    pub(crate) config: ContainerConfig,
    pub(crate) host_config: HostConfig,
    #[serde(default)]
    pub(crate) network_settings: NetworkSettings,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) mounts: Vec<Mounted>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ContainerState {
    pub(crate) status: String,
    pub(crate) paused: bool,
    pub(crate) pid: u32,
    pub(crate) exit_code: i32,
    #[serde(deserialize_with = "or_default")]
    pub(crate) error: String,
    pub(crate) started_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ContainerConfig {
    pub(crate) image: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) tty: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct HostConfig {
    pub(crate) privileged: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Mounted {
    pub(crate) source: PathBuf,
    pub(crate) destination: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct NetworkSettings {
    #[serde(deserialize_with = "or_default")]
    pub(crate) networks: BTreeMap<String, Endpoint>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Endpoint {
    #[serde(rename = "IPAddress", deserialize_with = "or_default")]
    pub(crate) address: String,
}

/// `GET /exec/ID/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Executed {
    pub(crate) running: bool,
    pub(crate) exit_code: Option<i32>,
}

/// `GET /networks/NAME`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Network {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(rename = "IPAM", default)]
    pub(crate) ipam: Ipam,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) containers: BTreeMap<String, Member>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Ipam {
    #[serde(deserialize_with = "or_default")]
    pub(crate) config: Vec<IpamConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct IpamConfig {
    #[serde(deserialize_with = "or_default")]
    pub(crate) subnet: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) gateway: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Member {
    /// With the length of the network: `10.90.0.2/24`.
    #[serde(rename = "IPv4Address", deserialize_with = "or_default")]
    pub(crate) address: String,
}

/// `GET /images/NAME/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ImageInspected {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) config: ImageConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ImageConfig {
    #[serde(deserialize_with = "or_default")]
    pub(crate) entrypoint: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) cmd: Vec<String>,
    /// The variables, as `PATH=/usr/bin:/bin`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) env: Vec<String>,
}

/// A line of `POST /images/create` and `POST /images/load`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Line {
    pub(crate) status: String,
    pub(crate) id: String,
    pub(crate) error: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) progress_detail: Detail,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    pub(crate) current: u64,
    pub(crate) total: u64,
}
