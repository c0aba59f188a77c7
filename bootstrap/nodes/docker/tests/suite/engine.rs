//! A daemon with everything of its own below a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Which daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Docker,
    Podman,
}

/// Asks for the capabilities and limits that this machine has.
const RUNTIME: &str = include_str!("known-capabilities");

/// Podman's supervisor of a command in a container ends one second after it, and not five minutes.
const CONFIGURATION: &str = "[engine]\nexit_command_delay = 1\n";

/// A daemon that runs.
pub struct Engine {
    pub kind: Kind,
    pub folder: PathBuf,
    child: Option<Child>,
}

impl Engine {
    pub fn new(kind: Kind, folder: &Path) -> Result<Self> {
        // Paths of sockets are short.
        let folder = folder.join(if kind == Kind::Docker { "d" } else { "p" });
        fs::create_dir_all(&folder)?;
        let runtime = folder.join("runc");
        // Podman starts it without a path.
        let found = Command::new("sh").args(["-c", "command -v runc"]).output()?;
        let found = String::from_utf8(found.stdout)?;
        ensure!(!found.is_empty(), "runc is not installed");
        fs::write(&runtime, RUNTIME.replace("\"runc\"\n", &format!("{:?}\n", found.trim())))?;
        fs::set_permissions(&runtime, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let configuration = serde_json::json!({
            "runtimes": {"known": {"path": runtime}}, "default-runtime": "known",
        });
        fs::write(folder.join("daemon.json"), configuration.to_string())?;
        fs::write(folder.join("containers.conf"), CONFIGURATION)?;
        Ok(Self { kind, folder, child: None })
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Starts the daemon, which does not answer yet.
    pub fn start(&mut self) -> Result<()> {
        fs::remove_file(self.socket()).ok();
        let log = fs::File::create(self.folder.join("log"))?;
        let at = |name: &str| self.folder.join(name);
        let host = self.host();
        let mut command = match self.kind {
            Kind::Docker => {
                let mut command = Command::new("dockerd");
                command.arg("--config-file").arg(at("daemon.json")).arg("--data-root").arg(at("data"));
                command
                    .arg("--exec-root")
                    .arg(at("exec"))
                    .arg("--pidfile")
                    .arg(at("pid"))
                    .args(["-H", &host]);
                command
            }
            Kind::Podman => {
                let mut command = self.podman();
                command.args(["system", "service", "--time", "0", &host]);
                command
            }
        };
        fs::remove_file(at("pid")).ok();
        command.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null());
        self.child = Some(command.spawn().context("the daemon is not installed")?);
        Ok(())
    }

    /// Kills the daemon. Its containers are as they are after a crash.
    pub fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    fn podman(&self) -> Command {
        let mut command = Command::new("podman");
        command.env("CONTAINERS_CONF", self.folder.join("containers.conf"));
        // Longer paths of the second one are refused.
        command.arg("--root").arg(self.folder.join("data")).args(["--runroot", "/run/containers/suite"]);
        command.arg("--runtime").arg(self.folder.join("runc")).args(["--cgroup-manager", "cgroupfs"]);
        command
    }

    /// Runs a command of the client, and returns what it prints.
    pub fn client(&self, words: &[&str]) -> Result<String> {
        let mut command = match self.kind {
            Kind::Docker => {
                let mut command = Command::new("docker");
                command.env("DOCKER_HOST", self.host());
                command
            }
            Kind::Podman => self.podman(),
        };
        let output = command.args(words).output().context("the client is not installed")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {errors}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The address of its socket.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Removes what a suite that failed has left.
    pub fn clear(&self) -> Result<()> {
        for container in self.client(&["ps", "-aq"])?.lines() {
            self.client(&["rm", "-f", "-v", container])?;
        }
        Ok(())
    }

    /// Waits until the daemon answers.
    pub async fn answers(&self) -> Result<()> {
        let answers = async {
            while self.client(&["version"]).is_err() || !self.socket().exists() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let answered = tokio::time::timeout(Duration::from_secs(60), answers).await;
        answered.with_context(|| fs::read_to_string(self.folder.join("log")).unwrap_or_default())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
            child.wait().ok();
        }
    }
}
