//! The process of a balancer.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::check::Checks;
use crate::console::say;
use crate::folder::Stamp;
use crate::listen::{Free, Listening};
use crate::pool::Pool;
use crate::{folder, limits, status};

/// Opens what a balancer needs of its folder, before the process gives up its rights.
///
/// # Errors
/// It cannot listen there.
pub fn open(folder: &Path) -> Result<Opened> {
    Ok(Opened { folder: folder.to_owned(), status: status::listen(folder)? })
}

/// A balancer that has opened what it needs rights for.
pub struct Opened {
    folder: PathBuf,
    status: UnixListener,
}

impl Opened {
    /// Runs the balancer until SIGTERM or SIGINT. `ready` is called when it listens.
    ///
    /// # Errors
    /// Its configuration cannot be used, or it cannot listen.
    pub fn run(self, ready: impl FnOnce()) -> Result<()> {
        let most = limits::connections(raise_files());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot wait for the kernel")?;
        runtime.block_on(async {
            // The first process of a container gets no signals that it does not wait for.
            let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
            let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for signals")?;
            tokio::select! {
                biased;
                ended = self.serve(most, ready) => ended,
                _ = terminate.recv() => Ok(()),
                _ = interrupt.recv() => Ok(()),
            }
        })
    }

    /// Balances with at most this many connections, and does not return.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub async fn serve(self, most: usize, ready: impl FnOnce()) -> Result<()> {
        let used = folder::stamp(&self.folder);
        let configuration = folder::read(&self.folder)?;
        let (port, servers) = (configuration.port, configuration.servers.len());
        let pool = Pool::new(configuration, Checks::new()?, most);
        let free = Free::new(most);
        let listening = Listening::open(port, &pool, &free).await?;
        say(&format!("listening on port {port} for {servers} servers, with at most {most} connections"));
        let asked = tokio::net::UnixListener::from_std(self.status).context("cannot wait for the kernel")?;
        ready();
        let mut serving = Serving { folder: self.folder, used, pool, free, listening };
        let mut look = tokio::time::interval(limits::LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                _ = look.tick() => serving.look().await,
                asked = asked.accept() => match asked {
                    Ok((stream, _)) => serving.answer(stream).await,
                    Err(_) => tokio::time::sleep(limits::ACCEPT_AGAIN).await,
                },
            }
        }
    }
}

/// A balancer that runs.
struct Serving {
    folder: PathBuf,
    /// By this, the configuration is known that was read last.
    used: Option<Stamp>,
    pool: Arc<Pool>,
    free: Free,
    listening: Listening,
}

impl Serving {
    /// Uses the configuration if it has changed. One that cannot be used leaves the last one.
    async fn look(&mut self) {
        let found = folder::stamp(&self.folder);
        if found == self.used {
            return;
        }
        self.used = found;
        if let Err(error) = self.configure().await {
            say(&format!("the configuration stays as it was: {error:#}"));
            self.pool.refuse(format!("{error:#}"));
        }
    }

    async fn configure(&mut self) -> Result<()> {
        let configuration = folder::read(&self.folder)?;
        if configuration.port != self.listening.port {
            self.listening = Listening::open(configuration.port, &self.pool, &self.free).await?;
        }
        say(&format!(
            "configured for port {} and {} servers",
            configuration.port,
            configuration.servers.len()
        ));
        self.pool.configure(configuration);
        Ok(())
    }

    /// Tells the status to somebody who asks, and who may be slow.
    async fn answer(&mut self, mut stream: UnixStream) {
        self.look().await;
        let Ok(text) = serde_json::to_vec(&self.pool.status()) else { return };
        tokio::spawn(async move { timeout(limits::ASK, stream.write_all(&text)).await });
    }
}

/// Allows this process as many open files as it may have, and returns their number.
fn raise_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, most) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}
