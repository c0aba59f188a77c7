//! Output of commands on standard output.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::options::Output;

/// Prints `value` as JSON or YAML.
///
/// # Errors
/// Standard output is closed.
pub fn print(value: &impl Serialize, output: Output) -> Result<()> {
    let text = match output {
        Output::Json => serde_json::to_string_pretty(value)? + "\n",
        Output::Yaml => serde_saphyr::to_string(value)?,
    };
    say(&text)
}

/// Prints text to standard output.
///
/// # Errors
/// Standard output is closed.
pub fn say(text: &str) -> Result<()> {
    say_bytes(text.as_bytes())
}

/// Prints text of any encoding to standard output.
///
/// # Errors
/// Standard output is closed.
pub fn say_bytes(text: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)?;
    Ok(out.flush()?)
}

/// Prints a line about what happens to standard error. If that is closed, nobody wants to know it.
pub fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

/// Waits for a line on standard input; returns whether it is a yes. The line is read by another thread, so that signals still end the
/// program.
///
/// # Errors
/// Standard input cannot be read.
pub async fn is_answer_yes() -> Result<bool> {
    let (answered, answer) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let outcome = std::io::stdin().read_line(&mut line).map(|_| line);
        // Nobody waits for the answer if the program has been interrupted.
        drop(answered.send(outcome));
    });
    let line = answer.await.context("the answer could not be read")??;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
