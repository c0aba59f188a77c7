//! Starts the server as a process that outlives this one.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use machinery::clock::Clock;
use server::data_directory::{DataDirectory, Running};
use server::options::ServerOptions;

use crate::output::say;

/// The interval at which the start of the server is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Starts this program again without `--detach`, and returns as soon as its API answers. Its output is appended to the log of the data
/// directory.
///
/// # Errors
/// The directory is in use, or the server ends before its API answers; the message has the last line of its log.
pub(super) async fn start(options: &ServerOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    if directory.is_locked()? {
        bail!("a server runs on {} already; stop it with `firstlight stop`", directory.path().display());
    }
    directory.create()?;
    // The file of an earlier server must not be mistaken for the file of the new server.
    directory.remove_running();
    let mut child = spawn(&directory)?;
    let running = wait(&directory, &mut child).await?;
    // These lines may be used in another folder.
    let directory = DataDirectory::locate(Some(&directory.path().canonicalize()?))?;
    say(&format!(
        "firstlight is up at {} (process {})\nexport KUBECONFIG={}\nLog: {}\nStop it with: firstlight stop --data-dir {}\n",
        running.server,
        running.pid,
        running.kubeconfig.display(),
        directory.log().display(),
        directory.path().display()
    ))
}

fn spawn(directory: &DataDirectory) -> Result<Child> {
    let path = directory.log();
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    let log = log.with_context(|| format!("cannot write the log {}", path.display()))?;
    let errors = log.try_clone().context("cannot share the log")?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    // A process group of its own does not get the Ctrl-C of this terminal.
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
    command.spawn().context("cannot start the server")
}

async fn wait(directory: &DataDirectory, child: &mut Child) -> Result<Running> {
    loop {
        if let Some(running) = directory.running()?.filter(|running| running.pid == child.id()) {
            return Ok(running);
        }
        if let Some(status) = child.try_wait().context("the server cannot be watched")? {
            let log = std::fs::read_to_string(directory.log()).unwrap_or_default();
            bail!("the server ended ({status}): {}", log.lines().last().unwrap_or("its log is empty"));
        }
        Clock::system().sleep(LOOK).await;
    }
}
