//! `firstlight nodes exec`: a program in a node.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use system_containers::{Exec, Exit};

use super::ExecOptions;
use super::open::{find, open};
use crate::output::streams;

/// A program of a person has no limit: it ends with this command.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Runs the program, and ends with its exit code.
pub(super) async fn run(options: &ExecOptions) -> Result<()> {
    let runtime = open(&options.directory).await?;
    find(runtime.as_ref(), &options.name).await?;
    let [stdin, stdout, stderr] = streams()?;
    let exec = Exec {
        command: options.command.clone(),
        environment: BTreeMap::new(),
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(stderr),
        time_limit: FOREVER,
    };
    let exit = runtime.exec(&options.name, exec).await?;
    let code = match exit {
        Exit::Code(0) => return Ok(()),
        Exit::Code(code) => code,
        Exit::TimedOut => 124,
    };
    // Not by `return`: a read of the terminal would hold the runtime up, and the exit code is the program's.
    std::process::exit(code)
}
