//! Output of commands on standard output.

use std::io::Write;

use anyhow::Result;
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
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
