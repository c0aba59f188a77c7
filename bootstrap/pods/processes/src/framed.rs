//! What a process is told on its standard input before it does anything: a value with its length before it. What a program reads comes behind it.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the bytes of a value: its length in eight bytes, and then itself in JSON.
///
/// # Errors
/// It is larger than `longest` bytes.
pub fn encode(value: &impl Serialize, longest: u64) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(value)?;
    let length = u64::try_from(text.len())?;
    ensure!(length <= longest, "the command and its variables have more than {longest} bytes");
    Ok([&length.to_be_bytes()[..], &text].concat())
}

/// Reads a value of at most `longest` bytes, and nothing behind it. `sender` is who should have written it, for example `the server`.
///
/// # Errors
/// The sender has ended, or the value is damaged.
pub fn read<T: DeserializeOwned>(input: impl AsFd, longest: u64, sender: &str) -> Result<T> {
    let ended = || format!("there is no instruction: {sender} has ended");
    let mut input = File::from(input.as_fd().try_clone_to_owned().context("there is no input")?);
    let mut length = [0; 8];
    input.read_exact(&mut length).with_context(ended)?;
    let length = u64::from_be_bytes(length);
    ensure!(length <= longest, "the instruction has more than {longest} bytes");
    let mut text = vec![0; usize::try_from(length)?];
    input.read_exact(&mut text).with_context(ended)?;
    serde_json::from_slice(&text).context("the instruction is damaged")
}
