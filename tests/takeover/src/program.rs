//! A program of upstream's.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::{Child, Command};

/// The time in which a program must be ready.
pub const START: Duration = Duration::from_secs(120);

/// A program that ends with the test.
pub struct Program {
    name: &'static str,
    child: Child,
    /// The process group, also after the end of its first process.
    group: Option<u32>,
    log: PathBuf,
}

impl Program {
    /// Starts it in `folder`, in a process group of its own.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn start(name: &'static str, command: &mut Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let printed = File::create(&log)?;
        command.current_dir(folder).kill_on_drop(true).stdin(Stdio::null()).process_group(0);
        command.stderr(printed.try_clone()?).stdout(printed);
        let child = command
            .spawn()
            .with_context(|| format!("{name} cannot be run; tests/takeover/install-tools gets it"))?;
        Ok(Self { name, group: child.id(), child, log })
    }

    /// Returns what it has printed.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// Its log.
    pub fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.log()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        // Ironic has a worker of its own. It is fine if the group has already ended.
        let _gone = std::process::Command::new("kill").args(["-9", "--", &format!("-{group}")]).status();
    }
}
