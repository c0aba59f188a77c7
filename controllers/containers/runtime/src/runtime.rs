//! What the user of system containers knows of the program that runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::finding::Finding;
use crate::limits;
use crate::spec::{Container, Spec, check_name};

/// Runs system containers. All errors name the container, the step, and what to do.
pub trait Runtime: Send + Sync {
    /// Returns everything that hinders or may hinder containers on this machine.
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>>;

    /// Creates a container, which does not run yet. A half one of the same name, which an ended server has left, is removed before.
    ///
    /// # Errors
    /// There is one of this name, the image cannot be used, or the machine refuses something. Nothing is left then.
    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>>;

    /// Starts a container, and waits until its init runs. Nothing happens if it runs already.
    ///
    /// # Errors
    /// It cannot run. It is as before then, and its state says why.
    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>>;

    /// Returns the containers that have all these labels, by name.
    ///
    /// # Errors
    /// The record of a container cannot be read.
    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>>;

    /// Returns the container called `name`; `None` if it does not exist.
    ///
    /// # Errors
    /// Its record cannot be read.
    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>>;

    /// Runs a program in a container until it ends. When this process ends before, so does the program without a container runtime; with one, the
    /// program's input ends, and it goes on until its time is over.
    ///
    /// # Errors
    /// The container does not run, or a stream fails. That the program cannot be run is no error, but the exit code 126 or 127, as in shells.
    fn exec<'a>(&'a self, name: &'a str, exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>>;

    /// Returns the end of what the container has written to its console, at most this many bytes.
    ///
    /// # Errors
    /// There is no such container, or its console cannot be read.
    fn console<'a>(&'a self, name: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<u8>>>;

    /// Returns whether the machine of the containers has a file or folder of this path, which a container could see.
    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool>;

    /// Freezes all processes of a container.
    ///
    /// # Errors
    /// It does not run, or the kernel refuses it.
    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Lets the processes of a container go on.
    ///
    /// # Errors
    /// It does not run, or the kernel refuses it.
    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Asks the init of a container to end, and kills it after `grace`. Nothing happens if it does not run.
    ///
    /// # Errors
    /// There is no such container, or it does not end.
    fn stop<'a>(&'a self, name: &'a str, grace: Duration) -> BoxFuture<'a, Result<()>>;

    /// Kills all processes of a container.
    ///
    /// # Errors
    /// There is no such container, or it does not end.
    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Kills a container and removes everything that was made for it. Nothing happens if there is none.
    ///
    /// # Errors
    /// Something cannot be removed; a later call tries again.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// A program that is run in a container, as root and in the root folder.
pub struct Exec<'a> {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables besides those of the container.
    pub environment: BTreeMap<String, String>,
    /// What it reads.
    pub stdin: Box<dyn AsyncRead + Send + Unpin + 'a>,
    /// What takes its output.
    pub stdout: Box<dyn AsyncWrite + Send + Unpin + 'a>,
    /// What takes its errors.
    pub stderr: Box<dyn AsyncWrite + Send + Unpin + 'a>,
    /// How long it may run. After that, its process group is killed.
    pub time_limit: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this exit code, or 128 plus the number of a signal.
    Code(i32),
    /// It was killed, because its time was over.
    TimedOut,
}

/// What a program in a container has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// How it ended.
    pub exit: Exit,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its errors.
    pub stderr: Vec<u8>,
}

impl Captured {
    /// Returns whether it ended with 0.
    pub fn is_success(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

/// Runs a program with this input, and returns what it has printed: the first [`limits::CAPTURED`] bytes of each stream.
///
/// # Errors
/// Those of [`Runtime::exec`].
pub async fn run(
    runtime: &dyn Runtime,
    name: &str,
    command: &[&str],
    input: &[u8],
    time_limit: Duration,
) -> Result<Captured> {
    let (mut stdout, mut stderr) = (First::default(), First::default());
    let exec = Exec {
        command: command.iter().map(|part| (*part).to_owned()).collect(),
        environment: BTreeMap::new(),
        stdin: Box::new(input),
        stdout: Box::new(&mut stdout),
        stderr: Box::new(&mut stderr),
        time_limit,
    };
    let exit = runtime.exec(name, exec).await?;
    Ok(Captured { exit, stdout: stdout.0, stderr: stderr.0 })
}

/// Keeps the first bytes, and drops all others.
#[derive(Default)]
struct First(Vec<u8>);

impl AsyncWrite for First {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        let free = limits::CAPTURED.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(free)]);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

/// Runs an operation on a container or a balancer, with its name in each error: "container one cannot be removed".
///
/// # Errors
/// The name is none of a container, or the operation fails.
pub fn named<'a, T>(
    kind: &'static str,
    what: &'static str,
    name: &'a str,
    operation: impl Future<Output = Result<T>> + Send + 'a,
) -> BoxFuture<'a, Result<T>> {
    async move {
        check_name(name)?;
        operation.await.with_context(|| format!("{kind} {name} cannot be {what}"))
    }
    .boxed()
}
