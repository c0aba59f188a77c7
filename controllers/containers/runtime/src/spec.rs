//! What a container shall be, and what it is.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{Image, balancer, limits};

/// A container that is to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// Its name: a DNS label. It is also its host name.
    pub name: String,
    /// Labels by which it is found.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The image, as [`Image::id`] has it: without a container runtime the folder with the unpacked image, which no container changes. It is
    /// empty for a balancer.
    #[serde(default)]
    pub image: String,
    /// What its first process is.
    #[serde(default)]
    pub init: Init,
    /// Variables of the init and of later programs, besides `container` and `PATH`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Files and folders of the machine that it sees.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    /// Folders that lie outside of the overlay, each a copy of that of the image, because overlayfs cannot be stacked: `/var` for containerd.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Its address, if it must be a certain one of the network.
    #[serde(default)]
    pub address: Option<Ipv4Addr>,
    /// Its name servers. If there is none: those of the machine, without the ones on loopback, which it cannot reach.
    #[serde(default)]
    pub name_servers: Vec<Ipv4Addr>,
    /// The number of the signal that asks its init to end: 37, SIGRTMIN+3, for systemd.
    #[serde(default = "halt")]
    pub stop_signal: i32,
}

/// Returns whether a program is an init that understands the arguments of systemd: `/sbin/init`, or systemd itself.
pub fn is_init(program: &str) -> bool {
    ["init", "systemd"].contains(&program.rsplit('/').next().unwrap_or_default())
}

/// The first process of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Init {
    /// `/sbin/init` of the image, with what systemd must be told about the control groups of the machine.
    #[default]
    System,
    /// A program of the image and its arguments.
    Command(Vec<String>),
    /// The load balancer of this program ([`crate::balancer`]). Its container has no image, no volume and no privilege, and sees nothing but
    /// its mounts.
    Balancer,
}

/// SIGRTMIN+3, at which systemd halts (systemd(1)). The C library takes the first two real-time signals for itself.
const fn halt() -> i32 {
    37
}

/// SIGTERM.
const TERMINATE: i32 = 15;

/// A file or folder of the machine that a container sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// The path on the machine.
    pub source: PathBuf,
    /// The path in the container.
    pub target: String,
    /// Whether it may only be read.
    #[serde(default)]
    pub read_only: bool,
}

impl Spec {
    /// Returns a container for systemd with a volume at `/var`, from this image.
    pub fn new(name: &str, image: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            labels: BTreeMap::new(),
            image: image.into(),
            init: Init::System,
            environment: BTreeMap::new(),
            mounts: Vec::new(),
            volumes: vec!["/var".to_owned()],
            address: None,
            name_servers: Vec::new(),
            stop_signal: halt(),
        }
    }

    /// The same with the init and the variables of this image.
    pub fn of(name: &str, image: &Image) -> Self {
        let init = match image.command.is_empty() {
            true => Init::System,
            false => Init::Command(image.command.clone()),
        };
        Self { init, environment: image.environment.clone(), ..Self::new(name, &image.id) }
    }

    /// Returns a container for a balancer, with these folders of the machine for its configuration and for its status.
    pub fn balancer(name: &str, configuration: &Path, status: &Path) -> Self {
        let mount = |source: &Path, target: &str, read_only: bool| Mount {
            source: source.to_owned(),
            target: format!("{}/{target}", balancer::FOLDER),
            read_only,
        };
        Self {
            init: Init::Balancer,
            mounts: vec![
                mount(configuration, balancer::CONFIGURATION, true),
                mount(status, balancer::STATUS, false),
            ],
            volumes: Vec::new(),
            stop_signal: TERMINATE,
            ..Self::new(name, "")
        }
    }

    /// Checks what does not depend on the machine.
    ///
    /// # Errors
    /// The field that is wrong, and why.
    pub fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        let text = |field: &str, text: &str| {
            ensure!(!text.contains('\0'), "{field} of container {} has a zero byte", self.name);
            Ok(())
        };
        match &self.init {
            Init::System => {}
            Init::Command(parts) => {
                ensure!(!parts.is_empty(), "init: the command of container {} is empty", self.name);
                parts.iter().try_for_each(|part| text("init", part))?;
            }
            Init::Balancer => ensure!(
                self.image.is_empty() && self.volumes.is_empty(),
                "init: a balancer has no image and no volumes, but container {} has some",
                self.name
            ),
        }
        for (name, value) in &self.environment {
            ensure!(
                !name.is_empty() && !name.contains('='),
                "environment: {name:?} is no name of a variable"
            );
            text("environment", name).and_then(|()| text("environment", value))?;
        }
        text("image", &self.image)?;
        for mount in &self.mounts {
            let source = mount.source.display();
            ensure!(mount.source.is_absolute(), "mounts: the source {source} is no absolute path");
            check_target("mounts", &mount.target)?;
        }
        self.volumes.iter().try_for_each(|volume| check_target("volumes", volume))
    }
}

fn check_target(field: &str, target: &str) -> Result<()> {
    let is_plain = target.starts_with('/')
        && target != "/"
        && !target.contains('\0')
        && !target.split('/').any(|part| part == "..");
    ensure!(is_plain, "{field}: {target:?} is no absolute path below the root folder of the container");
    Ok(())
}

/// Checks the name of a container, of which names of files, of control groups and of a host are made.
///
/// # Errors
/// It is no DNS label.
pub fn check_name(name: &str) -> Result<()> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = name.bytes().all(is_inner)
        && name.len() <= limits::NAME
        && !name.is_empty()
        && !name.starts_with('-')
        && !name.ends_with('-');
    ensure!(
        is_label,
        "name: {name:?} is no name of a container: use 1 to {} lower-case letters, digits and '-', as in a host name",
        limits::NAME
    );
    Ok(())
}

/// A container that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its image.
    pub image: String,
    /// Its address, which stays as long as it is there.
    pub address: Ipv4Addr,
    /// What it does.
    pub state: State,
    /// The number of its init on the machine, while that runs.
    pub pid: Option<u32>,
    /// When it was created.
    pub created: DateTime<Utc>,
    /// When it was started the last time.
    pub started: Option<DateTime<Utc>>,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It was not created completely: whoever did it has ended, or is doing it.
    Creating,
    /// It was never started.
    Created,
    /// Its supervisor prepares its init.
    Starting,
    /// Its init runs.
    Running,
    /// It is frozen.
    Paused,
    /// Its init has ended.
    #[serde(rename_all = "camelCase")]
    Stopped {
        /// The exit code of its init, 128 plus the number of the signal that ended it; `None` if its supervisor was killed or the machine
        /// has started anew.
        code: Option<i32>,
        /// Why its last start failed.
        error: Option<String>,
    },
    /// Its removal has begun, and can be continued.
    Removing,
}

impl Container {
    /// Returns the number of its init.
    ///
    /// # Errors
    /// It does not run; the error says what to do.
    pub fn running(&self) -> Result<u32> {
        let name = &self.name;
        ensure!(self.state != State::Paused, "container {name} is paused: resume it first");
        self.pid.filter(|_| self.state == State::Running).with_context(|| {
            format!("container {name} does not run (it is {}): start it first", self.state.word())
        })
    }
}

impl State {
    /// Returns one word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Created => "created",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped { .. } => "stopped",
            Self::Removing => "removing",
        }
    }
}
