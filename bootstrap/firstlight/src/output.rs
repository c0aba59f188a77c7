//! Output of commands on standard output and standard error.
//!
//! What others have written is part of nearly every text: messages of conditions, answers of BMCs, inventories of machines. So all text
//! goes through `terminal`, which shows control characters as escapes. A text that becomes a cell or a line beside others must be escaped
//! as a line before, or its line breaks would make it look like several.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::Serialize;

/// The option `-o`.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
}

/// Forms of output for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Prints `value` as JSON or YAML.
///
/// # Errors
/// Standard output is closed.
pub fn print(value: &impl Serialize, output: Output) -> Result<()> {
    let yaml = match output {
        Output::Json => None,
        Output::Yaml => Some(machinery::yaml::write(&serde_json::to_value(value)?)?),
    };
    // An escape in YAML without quotes would be another value. JSON is YAML, too, and its strings keep their values when they are escaped.
    let yaml = yaml.filter(|text| !text.contains(|c| terminal::is_unsafe(c) && c != '\n'));
    match yaml {
        Some(text) => say(&text),
        None => say(&(serde_json::to_string_pretty(value)? + "\n")),
    }
}

/// Prints text to standard output.
///
/// # Errors
/// Standard output is closed.
pub fn say(text: &str) -> Result<()> {
    write(terminal::lines(text).as_bytes())
}

/// Returns rows of cells as a table, each column as wide as its widest cell. What others wrote in a cell stays on its line.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let escaped = rows.into_iter().map(|row| row.map(|cell| terminal::line(&cell).into_owned()));
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(escaped).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    // The last column is not filled up.
    let widths: Vec<usize> = (0..N - 1).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        row.iter().zip(&widths).for_each(|(cell, width)| text.push_str(&format!("{cell:width$}  ")));
        text.push_str(&row[N - 1]);
        text.push('\n');
    }
    text
}

/// Prints text with colours to standard output. Everything in it that others have written must be escaped already.
///
/// # Errors
/// Standard output is closed.
pub fn say_painted(text: &str) -> Result<()> {
    write(text.as_bytes())
}

/// Prints a document for a file or another program, such as a manifest, byte for byte; on a terminal it is shown as [`say`] does.
///
/// # Errors
/// Standard output is closed.
pub fn say_document(text: &str) -> Result<()> {
    if std::io::stdout().is_terminal() { say(text) } else { write(text.as_bytes()) }
}

/// Returns the standard input, output and error for a program that has them as its own, byte for byte.
///
/// # Errors
/// One of them is closed.
pub fn streams() -> Result<[tokio::fs::File; 3]> {
    let file = |stream: &dyn AsFd| -> Result<tokio::fs::File> {
        let stream = stream.as_fd().try_clone_to_owned().context("a standard stream cannot be used")?;
        Ok(tokio::fs::File::from_std(File::from(stream)))
    };
    Ok([file(&std::io::stdin())?, file(&std::io::stdout())?, file(&std::io::stderr())?])
}

fn write(text: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)?;
    Ok(out.flush()?)
}

/// Prints lines about what happens to standard error. If that is closed, nobody wants to know it.
pub fn tell(lines: &str) {
    writeln!(std::io::stderr(), "{}", terminal::lines(lines)).ok();
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
