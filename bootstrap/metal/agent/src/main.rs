//! The agent as a program of its own, a twelfth of the server's size.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match agent::run() {
        Ok(never) => match never {},
        Err(error) => {
            // Somebody has run it by hand.
            drop(writeln!(std::io::stderr(), "firstlight-agent: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
