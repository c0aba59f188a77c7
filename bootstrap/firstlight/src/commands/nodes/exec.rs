//! `firstlight nodes exec`: a program in a node.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result};
use system_containers::{Exec, Exit, Runtime};

use super::ExecOptions;

/// A program of a person has no limit: it ends with this command.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Runs the program, and ends with its exit code.
pub(super) async fn run(options: &ExecOptions) -> Result<()> {
    let own = super::open(&options.directory).await?;
    let exec = Exec {
        command: options.command.clone(),
        environment: BTreeMap::new(),
        stdin: Box::new(file(&std::io::stdin())?),
        stdout: Box::new(file(&std::io::stdout())?),
        stderr: Box::new(file(&std::io::stderr())?),
        time_limit: FOREVER,
    };
    let exit = own.exec(&options.name, exec).await?;
    let code = match exit {
        Exit::Code(0) => return Ok(()),
        Exit::Code(code) => code,
        Exit::TimedOut => 124,
    };
    // Not by `return`: a read of the terminal would hold the runtime up, and the exit code is the program's.
    std::process::exit(code)
}

/// Returns a stream of this process, byte for byte.
fn file(stream: &impl AsFd) -> Result<tokio::fs::File> {
    let stream = stream.as_fd().try_clone_to_owned().context("a standard stream cannot be used")?;
    Ok(tokio::fs::File::from_std(File::from(stream)))
}
