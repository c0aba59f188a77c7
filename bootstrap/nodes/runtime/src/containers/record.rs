//! What the data directory remembers of a container.

use std::fs;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use machinery::random::Random;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::paths;
use crate::network::{Network, Range};
use crate::process::ProcessId;
use system_containers::Spec;

/// Only root reads what a container is made of.
const MODE: u32 = 0o600;

/// What the server decides: it is written before anything of the machine is changed for the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// Its paths are absolute here. In the file, those below the data directory are relative to it.
    pub(crate) spec: Spec,
    /// The identity of the data directory.
    pub(crate) identity: String,
    /// The network, and the address in it, which stays.
    pub(crate) range: Range,
    pub(crate) address: Ipv4Addr,
    pub(crate) created: DateTime<Utc>,
    /// The start of the machine in which its volumes were copied completely; `None` if they were not.
    #[serde(default)]
    pub(crate) prepared: Option<String>,
    /// Whether its removal has begun, which the name of the file says.
    #[serde(skip)]
    pub(crate) is_removing: bool,
}

/// What its supervisor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Supervised {
    pub(crate) supervisor: ProcessId,
    /// The first process of the container.
    pub(crate) init: Option<ProcessId>,
    /// When the init began to run.
    pub(crate) started: Option<DateTime<Utc>>,
    /// The exit code of the init.
    pub(crate) code: Option<i32>,
    /// Why it could not start.
    pub(crate) error: Option<String>,
}

impl Record {
    pub(crate) fn network(&self) -> Network {
        Network { identity: self.identity.clone(), range: self.range }
    }
}

/// The folder of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Where the root folder of the container is mounted, in its own namespace.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    /// What the container has changed of its image, and the folder that overlayfs needs beside it.
    pub(crate) fn upper(&self) -> PathBuf {
        self.0.join("overlay/upper")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.0.join("overlay/work")
    }

    pub(crate) fn volumes(&self) -> PathBuf {
        self.0.join("volumes")
    }

    pub(crate) fn volume(&self, number: usize) -> PathBuf {
        self.volumes().join(number.to_string())
    }

    /// Files that are mounted over those of the image or of the kernel.
    pub(crate) fn private(&self, name: &str) -> PathBuf {
        self.0.join("private").join(name)
    }

    pub(crate) fn console(&self) -> PathBuf {
        self.0.join("console.log")
    }

    /// The file that the supervisor has locked as long as it lives.
    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    fn record(&self) -> PathBuf {
        self.0.join("record.json")
    }

    fn supervised(&self) -> PathBuf {
        self.0.join("state.json")
    }

    /// The data directory, which is absolute.
    fn data(&self) -> Result<PathBuf> {
        let path = std::path::absolute(&self.0);
        let path = path.with_context(|| format!("cannot find {}", self.0.display()))?;
        let data = path.ancestors().nth(2);
        data.map(Path::to_owned).with_context(|| format!("{} is in no data directory", path.display()))
    }

    /// Returns the record; `None` if there is none.
    pub(crate) fn read(&self) -> Result<Option<Record>> {
        let mut found: Option<Record> = self.read_file(&self.record())?;
        if found.is_none() {
            let removed: Option<Record> = self.read_file(&self.0.join(REMOVING))?;
            found = removed.map(|record| Record { is_removing: true, ..record });
        }
        if let Some(record) = &mut found {
            paths::resolve(&mut record.spec, &self.data()?);
        }
        Ok(found)
    }

    /// Notes that the removal of the container has begun. It needs no space, so that containers can be removed from a full disk.
    pub(crate) fn begin_removal(&self) -> Result<()> {
        if self.record().symlink_metadata().is_err() {
            // It has begun already.
            return Ok(());
        }
        let begun = files::rename(&self.record(), &self.0.join(REMOVING));
        begun.with_context(|| format!("cannot rename {}", self.record().display()))
    }

    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let mut record = record.clone();
        paths::relative(&mut record.spec, &self.data()?);
        write(&self.record(), &record)
    }

    /// Returns what the supervisor of the last start has said; `None` if there was none.
    pub(crate) fn read_supervised(&self) -> Result<Option<Supervised>> {
        self.read_file(&self.supervised())
    }

    /// Reads a file in it. The error says how the container is removed without the file, with everything that it has of the machine.
    fn read_file<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>> {
        read(path).with_context(|| {
            let name = self.0.file_name().unwrap_or_default().display();
            format!("what is known of it is damaged: remove it (firstlight nodes delete {name})")
        })
    }

    pub(crate) fn write_supervised(&self, state: &Supervised) -> Result<()> {
        write(&self.supervised(), state)
    }
}

/// The name of the record's file after the removal of the container has begun. It is removed at last.
pub(crate) const REMOVING: &str = "removing.json";

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match fs::read(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let parsed = serde_json::from_slice(&text);
    parsed.map(Some).with_context(|| format!("{} cannot be read as JSON", path.display()))
}

/// Writes a JSON file, so that a power failure leaves the old or the new one.
pub(crate) fn write(path: &Path, content: &impl Serialize) -> Result<()> {
    files::write(path, MODE, &serde_json::to_vec_pretty(content)?)
}

/// The number of hexadecimal digits of an identity: the names of links have room for no more.
const DIGITS: usize = 7;

/// Returns the identity of a data directory, which is made at the first call. The lock on what all containers share must be held.
pub(super) fn identity(data: &Path, random: &Random) -> Result<String> {
    let path = data.join("identity");
    if !path.exists() {
        let mut bytes = [0; 4];
        random.fill(&mut bytes);
        let digits = format!("{:08x}", u32::from_be_bytes(bytes));
        files::write(&path, 0o600, &digits.as_bytes()[..DIGITS])?;
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_identity = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(is_identity, "{} is damaged: remove it if the directory has no containers", path.display());
    Ok(text)
}
