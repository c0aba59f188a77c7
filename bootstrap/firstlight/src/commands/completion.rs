//! `firstlight completion`.

use anyhow::Result;

use crate::cli;
use crate::output::say_document;

/// Prints the completion script of a shell.
///
/// # Errors
/// Standard output is closed.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "firstlight", &mut script);
    say_document(&String::from_utf8(script)?)
}
