//! kubectl, against a management cluster or a cluster of nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;

use crate::run::run;

/// The longest time for a command that waits for nothing.
const COMMAND: Duration = Duration::from_secs(30);

/// kubectl with a kubeconfig.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// Returns the one that talks to the cluster of this kubeconfig.
    pub fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned() }
    }

    /// Runs kubectl with these words.
    ///
    /// # Errors
    /// The errors of [`run`].
    pub async fn run(&self, words: &str) -> Result<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        run(&mut self.command(&words), b"", COMMAND).await
    }

    /// Applies objects.
    ///
    /// # Errors
    /// The errors of [`run`].
    pub async fn apply(&self, objects: &str) -> Result<String> {
        run(&mut self.command(&["apply", "-f", "-"]), objects.as_bytes(), COMMAND).await
    }

    /// Runs kubectl with words that wait for something.
    ///
    /// # Errors
    /// It does not happen within `limit`, or one of the errors of [`run`].
    pub async fn wait(&self, words: &str, limit: Duration) -> Result<String> {
        let timeout = format!("--timeout={}s", limit.as_secs());
        let words: Vec<&str> = words.split_whitespace().chain([timeout.as_str()]).collect();
        run(&mut self.command(&words), b"", limit + COMMAND).await
    }

    /// Runs a command in a Pod.
    ///
    /// # Errors
    /// The errors of [`run`].
    pub async fn exec(&self, pod: &str, command: &[&str]) -> Result<String> {
        let words = [&["exec", pod, "--"], command].concat();
        run(&mut self.command(&words), b"", COMMAND).await
    }

    /// Returns what these words print, or why they do not: for an error.
    pub async fn explain(&self, words: &str) -> String {
        let found = self.run(words).await.unwrap_or_else(|error| format!("{error:#}"));
        format!("--- kubectl {words}\n{found}\n")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(words);
        // Its cache of what the server has.
        command.env("HOME", self.kubeconfig.parent().unwrap_or(Path::new("/")));
        command
    }
}
