//! A daemon with everything of its own below a folder, and an image of a node.

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

/// The image of a node, which is no node but has its programs' names.
pub const IMAGE: &str = "kindest/node:v1.36.3";
/// An init that ends with 7 when systemd's would halt.
const INIT: &str = "#!/bin/sh\ntrap 'echo bye; exit 7' 37\necho \"init runs as $$\"\nwhile :; do sleep 1000 & wait $!; done\n";
/// Asks for the capabilities and limits that this machine has.
const RUNTIME: &str = include_str!("known-capabilities");

/// A daemon that runs.
pub struct Engine {
    kind: Kind,
    folder: PathBuf,
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
        let host = format!("unix://{}", self.socket().display());
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
        command.arg("--root").arg(self.folder.join("data")).arg("--runroot").arg(self.folder.join("run"));
        command.arg("--runtime").arg(self.folder.join("runc")).args(["--cgroup-manager", "cgroupfs"]);
        command
    }

    /// Runs a command of the client, and returns what it prints.
    pub fn client(&self, words: &[&str]) -> Result<String> {
        let mut command = match self.kind {
            Kind::Docker => {
                let mut command = Command::new("docker");
                command.env("DOCKER_HOST", format!("unix://{}", self.socket().display()));
                command
            }
            Kind::Podman => self.podman(),
        };
        let output = command.args(words).output().context("the client is not installed")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {errors}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Removes what a suite that failed has left.
    pub fn clear(&self) -> Result<()> {
        for container in self.client(&["ps", "-aq"])?.lines() {
            self.client(&["rm", "-f", "-v", container])?;
        }
        Ok(())
    }

    /// Makes the image of a node and returns an archive with it. The daemon does not have it afterwards.
    pub fn image(&self) -> Result<PathBuf> {
        let archive = self.folder.join("node.tar");
        let tree = self.folder.join("tree");
        fs::remove_dir_all(&tree).ok();
        for folder in
            ["bin", "sbin", "usr/bin", "kind", "var/lib", "lib64", "tmp", "run", "etc", "proc", "sys", "dev"]
        {
            fs::create_dir_all(tree.join(folder))?;
        }
        let write = |path: &str, text: &str| -> Result<()> {
            let path = tree.join(path);
            fs::write(&path, text)?;
            Ok(fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?)
        };
        write("sbin/init", INIT)?;
        write("kind/version", "v1.36.3\n")?;
        write("var/lib/marker", "of the image\n")?;
        for program in ["kubeadm", "kubelet", "containerd"] {
            write(&format!("usr/bin/{program}"), "#!/bin/sh\n")?;
        }
        let shell = "set -e; cp \"$(command -v busybox)\" bin/busybox; for name in sh cat sleep wc ps grep echo ls id head; do ln -s busybox bin/$name; done
            cp /usr/bin/timeout usr/bin/; for file in $(ldd /usr/bin/timeout | grep -o '/[^ ]*'); do mkdir -p .${file%/*}; cp -L $file .$file; done";
        let status = Command::new("sh").args(["-c", shell]).current_dir(&tree).status()?;
        ensure!(status.success(), "busybox-static and coreutils are needed");
        let packed = self.folder.join("tree.tar");
        let status = Command::new("tar").arg("-C").arg(&tree).arg("-cf").arg(&packed).arg(".").status()?;
        ensure!(status.success(), "tar failed");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let name = match self.kind {
            Kind::Docker => IMAGE.to_owned(),
            Kind::Podman => format!("docker.io/{IMAGE}"),
        };
        self.client(&["import", "--change", "ENTRYPOINT [\"/sbin/init\"]", &text(&packed), &name])?;
        fs::remove_file(&archive).ok();
        self.client(&["save", "-o", &text(&archive), &name])?;
        self.client(&["rmi", &name])?;
        Ok(archive)
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
