//! The agent as a separate program, of a twelfth of the server's size.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match agent::run() {
        Ok(never) => match never {},
        Err(error) => {
            // The program was started by hand and not as the first process.
            drop(writeln!(std::io::stderr(), "firstlight-agent: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
