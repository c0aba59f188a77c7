//! `firstlight stop`: ends the server of a data directory.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use machinery::clock::Clock;
use rustix::process::{Signal, kill_process};
use server::data_directory::DataDirectory;
use server::merge_kubeconfig;
use server::options::{DirectoryOptions, parse_duration};

use crate::output::say;

/// The interval at which the lock of the data directory is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Options of `stop`.
#[derive(Debug, Clone, Args)]
pub struct StopOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Give up after this time, for example 90s or 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s")]
    pub timeout: Duration,
}

/// Stops the server with SIGTERM and waits until it has released the data directory. Without a server there is nothing to do.
///
/// # Errors
/// The server is still starting, belongs to another user, or does not end in time.
pub async fn run(options: &StopOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    directory.check_access()?;
    let path = directory.path().display();
    // After a crash, the file of the running server still exists, but the lock is released. Checking the lock prevents a signal to another
    // process that has got the same process ID since.
    if !directory.is_locked()? {
        let unmerged = unmerge(&directory)?;
        return say(&format!("No server runs on {path}.\n{unmerged}"));
    }
    let Some(running) = directory.running()? else {
        bail!("the server on {path} is still starting; try again");
    };
    let process = running.process();
    let process = process.with_context(|| format!("{} is not the number of a process", running.pid))?;
    kill_process(process, Signal::TERM).with_context(|| format!("cannot stop process {}", running.pid))?;
    let ended = async {
        while directory.is_locked()? {
            Clock::system().sleep(LOOK).await;
        }
        Ok::<_, anyhow::Error>(())
    };
    match tokio::time::timeout(options.timeout, ended).await {
        Ok(ended) => ended?,
        Err(_) => bail!("process {} has not ended after {}s", running.pid, options.timeout.as_secs()),
    }
    let unmerged = unmerge(&directory)?;
    say(&format!("Stopped. `firstlight up` or `firstlight serve` on {path} continues from here.\n{unmerged}"))
}

/// Takes the entries of the server out of the user's kubeconfig; returns the line about it.
fn unmerge(directory: &DataDirectory) -> Result<String> {
    let file =
        merge_kubeconfig::unmerge(directory).context("the kubeconfig still has the server's entries")?;
    Ok(file.map_or_else(String::new, |file| format!("Its entries were taken out of {}.\n", file.display())))
}
