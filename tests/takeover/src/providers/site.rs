//! A server, the program that installs providers on it, and its objects.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use machinery::clock::Clock;
use netboot_tests::server::Objects;
use test_server::Server;
use tokio::process::Command;

use super::repository::Provider;
use crate::output::server;

/// A running server.
pub struct Site {
    /// The process.
    pub server: Server,
    /// Its objects.
    pub objects: Objects,
    binary: PathBuf,
    configuration: PathBuf,
}

impl Site {
    /// Starts a server with its files in a new folder with this name.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start(
        binary: &Path,
        configuration: &Path,
        folder: &Path,
        name: &str,
        options: &[&str],
    ) -> Result<Self> {
        let server = server(binary, folder, name, options).await?;
        let objects = Objects(server.client().await?);
        Ok(Self { server, objects, binary: binary.to_owned(), configuration: configuration.to_owned() })
    }

    /// Returns the process ID of the server.
    ///
    /// # Errors
    /// It has ended.
    pub fn process(&self) -> Result<u32> {
        self.server.id().context("the server has ended")
    }

    /// Installs providers, and returns how long the command took.
    ///
    /// # Errors
    /// The command fails.
    pub async fn install(&self, providers: &[Provider], options: &[&str]) -> Result<Duration> {
        let providers: Vec<String> = providers
            .iter()
            .flat_map(|Provider { flag, name, version, .. }| {
                [(*flag).to_owned(), format!("{name}:{version}")]
            })
            .collect();
        let mut arguments = vec!["init"];
        arguments.extend(providers.iter().map(String::as_str));
        arguments.extend(options);
        Ok(self.run(&arguments).await?.1)
    }

    /// Runs a command of the program against the server, and returns what it prints and how long it takes.
    ///
    /// # Errors
    /// It fails.
    pub async fn run(&self, arguments: &[&str]) -> Result<(String, Duration)> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--config").arg(&self.configuration);
        command.arg("--kubeconfig").arg(self.server.kubeconfig()).kill_on_drop(true);
        let from = Clock::system().monotonic();
        let output = command.output().await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        let log = || self.server.log();
        ensure!(output.status.success(), "firstlight {}:\n{printed}{said}{}", arguments.join(" "), log());
        Ok((printed, from.elapsed()))
    }
}
