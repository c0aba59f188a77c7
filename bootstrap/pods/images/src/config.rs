//! The config of an image: what it runs, and as which user.

use anyhow::{Context, Result, ensure};
use bundle::Digest;
use pod_folders::Root;
use serde::Deserialize;

use crate::limits;

/// The parts of an image's config that its processes depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The user, as `65532:65532`, `nonroot`, or empty for root.
    pub user: String,
    /// The environment variables, as `NAME=value`.
    pub environment: Vec<String>,
    /// The program with its first arguments.
    pub entrypoint: Vec<String>,
    /// Further arguments, or the program if there is no entrypoint.
    pub command: Vec<String>,
    /// The working directory; `/` if it is empty.
    pub working_directory: String,
    /// The digests of the uncompressed layers, the lowest first.
    pub layers: Vec<Digest>,
}

#[derive(Deserialize)]
struct Document {
    architecture: String,
    os: String,
    #[serde(default)]
    config: Option<Process>,
    rootfs: Layers,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Process {
    user: Option<String>,
    env: Option<Vec<String>>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    working_dir: Option<String>,
}

#[derive(Deserialize)]
struct Layers {
    #[serde(default)]
    diff_ids: Vec<Digest>,
}

impl Config {
    /// Reads the config of an image, a JSON document.
    ///
    /// # Errors
    /// It is not the config of an image, or the image is for another platform than this machine.
    pub fn parse(content: &[u8]) -> Result<Self> {
        let document: Document =
            serde_json::from_slice(content).context("the config is not that of an image")?;
        let own = bundle::architecture();
        ensure!(
            document.architecture == own && document.os == "linux",
            "it is an image for {}/{}, and this machine is linux/{own}",
            document.os,
            document.architecture
        );
        ensure!(
            document.rootfs.diff_ids.len() <= limits::LAYERS,
            "it has more than {} layers",
            limits::LAYERS
        );
        let process = document.config.unwrap_or_default();
        Ok(Self {
            user: process.user.unwrap_or_default(),
            environment: process.env.unwrap_or_default(),
            entrypoint: process.entrypoint.unwrap_or_default(),
            command: process.cmd.unwrap_or_default(),
            working_directory: process.working_dir.unwrap_or_default(),
            layers: document.rootfs.diff_ids,
        })
    }
}

/// The user and the groups of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
    /// The home directory, if `/etc/passwd` of the image has one.
    pub home: Option<String>,
}

impl User {
    /// Finds the numbers of `USER[:GROUP]` in the image's `/etc/passwd` and `/etc/group`, as container runtimes do: an unknown number is
    /// used as it is, with group 0.
    ///
    /// # Errors
    /// A name is in neither file.
    pub fn find(text: &str, root: &Root) -> Result<Self> {
        let (user, group) = text.split_once(':').unwrap_or((text, ""));
        let user = if user.is_empty() { "0" } else { user };
        let passwd = root.small("etc/passwd", limits::USERS)?.unwrap_or_default();
        let entry = entry(&passwd, user);
        let number = |field: Option<&String>| field.and_then(|text| text.parse::<u32>().ok());
        let mut found = match &entry {
            Some(fields) => Self {
                user: number(fields.get(2)).context("/etc/passwd has no number for the user")?,
                group: number(fields.get(3)).unwrap_or_default(),
                home: fields.get(5).filter(|home| !home.is_empty()).cloned(),
            },
            None => Self {
                user: user
                    .parse()
                    .with_context(|| format!("/etc/passwd of the image has no user {user:?}"))?,
                ..Self::default()
            },
        };
        if !group.is_empty() {
            let groups = root.small("etc/group", limits::USERS)?.unwrap_or_default();
            found.group = match number(self::entry(&groups, group).as_ref().and_then(|fields| fields.get(2)))
            {
                Some(number) => number,
                None => group
                    .parse()
                    .with_context(|| format!("/etc/group of the image has no group {group:?}"))?,
            };
        }
        Ok(found)
    }
}

/// Returns the fields of the line whose name or number is `wanted`. In both files, the first field is the name and the third the number.
fn entry(file: &[u8], wanted: &str) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(file);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(':').collect()).collect();
    let by = |field: usize| lines.iter().find(|line| line.len() > 2 && line.get(field) == Some(&wanted));
    let found = by(0).or_else(|| by(2))?;
    Some(found.iter().map(|field| (*field).to_owned()).collect())
}
