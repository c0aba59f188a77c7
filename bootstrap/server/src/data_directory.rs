//! The data directory: its place, its files, and their permissions.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use machinery::clock::Clock;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use store::EngineError;

use crate::netboot::BareMetal;

/// The directory with all data of one server.
#[derive(Debug, Clone)]
pub struct DataDirectory(PathBuf);

/// The data about a running server for `status` and other commands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Running {
    /// The process identifier.
    pub pid: u32,
    /// The name of the server, of which the context in a kubeconfig is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL, for example `https://127.0.0.1:6443`.
    pub server: String,
    /// The path of the administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Its controllers, as a value of `--controllers`; `None` if a version wrote the file that did not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controllers: Option<String>,
    /// The services that boot machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bare_metal: Option<BareMetal>,
}

impl Running {
    /// Returns whether the process exists. It may be another one, which has got the same number since.
    pub fn exists(&self) -> bool {
        // Where nobody waits for processes without a parent, one that has ended keeps its number.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let has_ended = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
        // Another user's process may not be signalled, but it exists.
        !has_ended && self.process().map(test_kill_process).is_some_and(|found| found != Err(Errno::SRCH))
    }

    /// Returns the process; `None` if the number cannot be that of a process.
    pub fn process(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

/// The longest name of a server.
pub const SERVER_NAME_CHARACTERS: usize = 63;

/// Returns whether the name of a server may have this character.
pub fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.".contains(character)
}

/// The interval at which [`DataDirectory::server_ended`] looks.
const LOOK: Duration = Duration::from_millis(500);

impl DataDirectory {
    /// Returns `chosen`, or the default: `$XDG_DATA_HOME/firstlight`, or `/var/lib/firstlight` if `HOME` is `/root`, or
    /// `~/.local/share/firstlight`.
    ///
    /// # Errors
    /// Neither `HOME` nor `XDG_DATA_HOME` is set.
    pub fn locate(chosen: Option<&Path>) -> Result<Self> {
        match chosen {
            Some(path) => Ok(Self(path.to_owned())),
            None => Self::default_one(),
        }
    }

    fn default_one() -> Result<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(base) = variable("XDG_DATA_HOME") {
            return Ok(Self(base.join("firstlight")));
        }
        let home = variable("HOME").context("neither HOME nor XDG_DATA_HOME is set; say --data-dir")?;
        if home == Path::new("/root") {
            return Ok(Self("/var/lib/firstlight".into()));
        }
        Ok(Self(home.join(".local/share/firstlight")))
    }

    /// Returns the name of its server, unless the user gives it one: `default` for the default directory, and otherwise the directory's own
    /// name. Characters that would need quotes in a shell are dashes.
    pub fn name(&self) -> String {
        let resolved = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
        let path = resolved(&self.0).unwrap_or_else(|_| self.0.clone());
        let is_default =
            Self::default_one().is_ok_and(|other| resolved(&other.0).is_ok_and(|other| other == path));
        let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own = own.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_default || own.is_empty() {
            return "default".to_owned();
        }
        own.chars().take(SERVER_NAME_CHARACTERS).map(|c| if is_of_name(c) { c } else { '-' }).collect()
    }

    /// Creates the directory, accessible only to its owner.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn create(&self) -> Result<()> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        for path in [self.0.clone(), self.pki()] {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)
                .with_context(|| format!("cannot make the data directory {}", path.display()))?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))
                .with_context(|| format!("cannot protect {}", path.display()))?;
        }
        Ok(())
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of certificates and keys.
    pub fn pki(&self) -> PathBuf {
        self.0.join("pki")
    }

    /// Returns the default path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.0.join("kubeconfig")
    }

    /// Returns the path of the log of `up` on a terminal, and of `serve --detach`.
    pub fn log(&self) -> PathBuf {
        self.0.join("firstlight.log")
    }

    /// Returns the path of the file that marks the existence of a store, so that its loss is noticed.
    fn store_mark(&self) -> PathBuf {
        self.pki().join("store-made")
    }

    /// Creates the mark of an existing store.
    pub fn remember_store(&self) {
        let mark = self.store_mark();
        if !mark.exists()
            && let Err(error) = write_private(&mark, b"")
        {
            tracing::warn!("the loss of the store would not be noticed: {error:#}");
        }
    }

    /// Fails if a store that existed is missing, whose content is `store`: an empty store in its place would look as if no object had ever been stored.
    ///
    /// # Errors
    /// The store is missing; the message says how to recover.
    pub fn refuse_lost_store(&self, store: &Path) -> Result<()> {
        ensure!(
            store.exists() || !self.store_mark().exists(),
            "{} is gone, although {} has the keys of its server: put it back, or restore a backup with `firstlight restore FILE --replace`. \
             To begin with an empty server, remove {}",
            store.display(),
            self.0.display(),
            self.pki().display()
        );
        Ok(())
    }

    fn running_file(&self) -> PathBuf {
        self.0.join("server.json")
    }

    /// Writes the file about the running server.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_running(&self, running: &Running) -> Result<()> {
        let (path, text) = (self.running_file(), serde_json::to_vec_pretty(running)?);
        // On a full disk the existing file can still be overwritten in place.
        write_private(&path, &text).or_else(|error| overwrite(&path, &text).map_err(|_| error))
    }

    /// Returns the server that ran last on this directory; it may have ended since.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn running(&self) -> Result<Option<Running>> {
        let path = self.running_file();
        match std::fs::read(&path) {
            Ok(text) => {
                let running = serde_json::from_slice(&text);
                Ok(Some(running.with_context(|| format!("{} is damaged", path.display()))?))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Returns the server that runs on this directory.
    ///
    /// # Errors
    /// There is none, it was killed, or the file about it cannot be read.
    pub fn running_server(&self) -> Result<Running> {
        let path = self.0.display();
        let start = "`firstlight up` or `firstlight serve`";
        let running = self.running()?;
        let running = running.with_context(|| format!("no server runs on {path}; start one with {start}"))?;
        // The number of its process may be that of another one by now.
        ensure!(
            self.is_locked()?,
            "the server on {path} (process {}) was killed, or its machine went down; {start} continues from what is on the disk",
            running.pid
        );
        Ok(running)
    }

    /// Fails if this user may not look into the directory. A directory that does not exist is another matter.
    ///
    /// # Errors
    /// The directory is closed to this user.
    pub fn check_access(&self) -> Result<()> {
        match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                bail!(
                    "{} is closed to this user; run this as the user of its server, or as root",
                    self.0.display()
                )
            }
            _ => Ok(()),
        }
    }

    /// Waits until the server has ended, also if it was killed; returns the error for commands that need it.
    pub async fn server_ended(&self, server: &Running) -> anyhow::Error {
        let runs = || {
            let is_named = matches!(self.running(), Ok(Some(found)) if found.pid == server.pid);
            is_named && server.exists()
        };
        while runs() {
            Clock::system().sleep(LOOK).await;
        }
        anyhow!("the server on {} (process {}) has ended", self.0.display(), server.pid)
    }

    /// Returns whether a process has this directory open.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn is_locked(&self) -> Result<bool> {
        if !self.0.exists() {
            return Ok(false);
        }
        // Opening a directory locks it, and fails if another process has the lock.
        match store::DataDirectory::open(&self.0) {
            Ok(_) => Ok(false),
            Err(EngineError::InUse { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the file about the running server.
    pub fn remove_running(&self) {
        // Readers of the file also check that the server answers, so a leftover file does no harm.
        drop(std::fs::remove_file(self.running_file()));
    }
}

fn overwrite(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)
}

/// Writes a file like [`write_private`], but only if its content differs or others can read it.
///
/// # Errors
/// The file cannot be written.
pub fn update_private(path: &Path, content: &[u8]) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let private = path.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0);
    if private
        && files::open(path).and_then(std::io::read_to_string).is_ok_and(|found| found.as_bytes() == content)
    {
        return Ok(());
    }
    write_private(path, content)
}

/// Writes a file that only its owner may read. After a power failure there is the old one or the new one.
///
/// # Errors
/// The file cannot be written.
pub fn write_private(path: &Path, content: &[u8]) -> Result<()> {
    files::write(path, 0o600, content)
}
