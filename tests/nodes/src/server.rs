//! The program under test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::images::{Images, firstlight};
use crate::kubectl::Kubectl;
use crate::run::{last_lines, run, until};

/// The longest time until a server answers, and for a command of the program.
const START: Duration = Duration::from_secs(60);
/// The user without rights.
const NOBODY: u32 = 65534;
/// The lines of the log that an error shows.
const LINES: usize = 100;

/// A server on a data directory, which is killed with this.
pub struct Server {
    binary: PathBuf,
    folder: PathBuf,
    kubectl: PathBuf,
    archives: Vec<PathBuf>,
    as_nobody: bool,
    runtime: &'static str,
    child: Option<Child>,
}

impl Server {
    /// Returns a server that is not started, with its data and its log in `folder`.
    ///
    /// # Errors
    /// `FIRSTLIGHT_BINARY` names no program.
    pub fn new(images: &Images, folder: &Path) -> Result<Self> {
        let binary = firstlight()?;
        let archives = vec![images.node(images.older()), images.node(images.newer()), images.web()];
        let (folder, kubectl) = (folder.to_owned(), images.kubectl());
        Ok(Self { binary, folder, kubectl, archives, as_nobody: false, runtime: "own", child: None })
    }

    /// Starts the server by a command like `up -f FILE`, and waits until it answers.
    ///
    /// # Errors
    /// It ends, or does not answer in time.
    pub async fn start(&mut self, command: &[&str]) -> Result<()> {
        // That of an earlier server has another port.
        drop(std::fs::remove_file(self.kubeconfig()));
        self.spawn(&[command, &["--listen", "127.0.0.1:0"]].concat())?;
        let kubectl = self.kubectl();
        until("the server answers", START, async || kubectl.run("get --raw /readyz").await).await?;
        self.is_running()
    }

    /// Starts the controller of nodes for the cluster of this kubeconfig.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn control(&mut self, kubeconfig: &Path) -> Result<()> {
        let kubeconfig = kubeconfig.to_str().context("a path that is text")?;
        self.spawn(&["controllers", "--controllers", "containers", "--kubeconfig", kubeconfig])
    }

    fn spawn(&mut self, command: &[&str]) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let mut server = self.command(command);
        // Nothing answers there: nodes are never reached through a proxy.
        server.args(["--node-runtime", self.runtime]).env("HTTPS_PROXY", "http://127.0.0.1:9");
        for archive in &self.archives {
            server.arg("--container-images").arg(archive);
        }
        server.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        if self.as_nobody {
            server.uid(NOBODY).gid(NOBODY);
        }
        let child = server.spawn().with_context(|| format!("cannot start {}", self.binary.display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// Lets Docker or Podman run the nodes.
    pub fn run_nodes_with(&mut self, runtime: &'static str) {
        self.runtime = runtime;
    }

    /// Gives the server one more archive with an image.
    pub fn offer(&mut self, archive: PathBuf) {
        self.archives.push(archive);
    }

    /// Returns the process of the server.
    ///
    /// # Errors
    /// It was not started, or has ended.
    pub fn process(&self) -> Result<u32> {
        self.child.as_ref().and_then(Child::id).context("the server does not run")
    }

    /// Lets a user without rights run the server.
    ///
    /// # Errors
    /// The folder cannot be given to this user.
    pub fn run_as_nobody(&mut self) -> Result<()> {
        self.as_nobody = true;
        Ok(std::os::unix::fs::chown(&self.folder, Some(NOBODY), Some(NOBODY))?)
    }

    /// Interrupts the server as Ctrl-C does, and waits until it has ended.
    ///
    /// # Errors
    /// It does not end, or fails.
    pub async fn interrupt(&mut self) -> Result<()> {
        self.is_running()?;
        let mut child = self.child.take().context("a server that was started")?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).context("a process")?;
        kill_process(id, Signal::INT)?;
        let status = tokio::time::timeout(START, child.wait()).await.context("it does not end")??;
        ensure!(status.success(), "it ends with {status}\n{}", self.last_words());
        Ok(())
    }

    /// Kills the server.
    ///
    /// # Errors
    /// It has ended before.
    pub async fn kill(&mut self) -> Result<()> {
        self.is_running()?;
        let mut child = self.child.take().context("a server that was started")?;
        child.kill().await.context("it cannot be killed")
    }

    /// Stops the server as a user does.
    ///
    /// # Errors
    /// It does not end.
    pub async fn stop(&mut self) -> Result<()> {
        self.run(&["stop"]).await?;
        let mut child = self.child.take().context("a server that was started")?;
        tokio::time::timeout(START, child.wait()).await.context("it does not end")??;
        Ok(())
    }

    /// Runs a command of the program on the data directory.
    ///
    /// # Errors
    /// It fails.
    pub async fn run(&self, words: &[&str]) -> Result<String> {
        run(&mut self.command(words), b"", START).await
    }

    /// Runs a command in a node.
    ///
    /// # Errors
    /// It fails.
    pub async fn in_node(&self, node: &str, command: &[&str]) -> Result<String> {
        let mut program = self.command(&["nodes", "exec"]);
        run(program.args([node, "--"]).args(command), b"", START).await
    }

    /// Starts a command of `firstlight nodes`, which is killed when it is dropped.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn nodes(&self, words: &[&str]) -> Result<Child> {
        let mut command = self.command(&[&["nodes"], words].concat());
        command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        command.spawn().with_context(|| format!("cannot start {}", self.binary.display()))
    }

    /// Returns the nodes and load balancers, as `nodes list` prints them.
    ///
    /// # Errors
    /// The command fails.
    pub async fn listed(&self) -> Result<Vec<Value>> {
        Ok(serde_json::from_str(&self.run(&["nodes", "list", "-o", "json"]).await?)?)
    }

    /// Waits until the server has printed this.
    ///
    /// # Errors
    /// It has not within `limit`, or ends before.
    pub async fn says(&mut self, text: &str, limit: Duration) -> Result<()> {
        let what = format!("the server says {text:?}");
        let found = until(&what, limit, async || {
            // An end is final.
            if let Err(ended) = self.is_running() {
                return Ok(Err(ended));
            }
            ensure!(self.log().contains(text), "{}", self.last_words());
            Ok(Ok(()))
        });
        found.await?
    }

    /// Returns a kubectl for the server.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubectl, &self.kubeconfig())
    }

    /// Returns a kubectl for the cluster of nodes called `name`.
    ///
    /// # Errors
    /// It has no kubeconfig yet.
    pub async fn cluster(&self, name: &str) -> Result<Kubectl> {
        self.cluster_in(name, "default").await
    }

    /// The same for one of another namespace.
    ///
    /// # Errors
    /// It has no kubeconfig yet.
    pub async fn cluster_in(&self, name: &str, namespace: &str) -> Result<Kubectl> {
        let mut get = Command::new(&self.binary);
        get.args(["get", "kubeconfig", name, "--namespace", namespace, "--kubeconfig"])
            .arg(self.kubeconfig());
        let text = run(&mut get, b"", START).await?;
        let path = self.folder.join(format!("{namespace}-{name}.kubeconfig"));
        std::fs::write(&path, text)?;
        Ok(Kubectl::new(&self.kubectl, &path))
    }

    /// Returns the kubeconfig of the cluster into which everything was moved.
    pub fn pivot_target(&self) -> PathBuf {
        self.folder.join("data/pivot-target.kubeconfig")
    }

    /// Returns a kubectl for it.
    pub fn pivoted(&self) -> Kubectl {
        Kubectl::new(&self.kubectl, &self.pivot_target())
    }

    /// Returns the last lines of the log.
    pub fn last_words(&self) -> String {
        last_lines(&self.log(), LINES)
    }

    /// Returns the log, of earlier servers too.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).arg("--data-dir").arg(self.folder.join("data")).env("HOME", &self.folder);
        command
    }

    /// Checks that the server has not ended.
    ///
    /// # Errors
    /// It has; the error has its last words.
    pub fn is_running(&mut self) -> Result<()> {
        match self.child.as_mut().map(Child::try_wait).transpose()? {
            Some(None) => Ok(()),
            ended => bail!("the server has ended: {ended:?}\n{}", self.last_words()),
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.join("data/kubeconfig")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}
