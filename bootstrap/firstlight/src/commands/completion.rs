//! `firstlight completion`.

use std::io::{ErrorKind, Write};

use anyhow::Result;
use clap::CommandFactory;

use crate::cli::Cli;

/// Prints the completion script of a shell.
///
/// # Errors
/// Standard output cannot be written; a closed pipe is not an error.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "firstlight", &mut script);
    let mut out = std::io::stdout().lock();
    match out.write_all(&script).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}
