//! The memory of the server and of the processes that it needs for those of providers.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The memory of processes, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// What is in memory, with the pages of the program and its libraries.
    pub resident: u64,
    /// What no other process has.
    pub private: u64,
    /// How many processes.
    pub processes: u64,
}

impl Memory {
    fn add(&mut self, other: Self) {
        self.resident += other.resident;
        self.private += other.private;
        self.processes += other.processes;
    }
}

/// Returns the memory of a process.
///
/// # Errors
/// It has ended.
pub fn of(process: u32) -> Result<Memory> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    Ok(parse(&text))
}

/// Returns the memory of all processes below `process`: those that run this `program`, and all others.
///
/// # Errors
/// `/proc` cannot be read.
pub fn below(process: u32, program: &Path) -> Result<(Memory, Memory)> {
    let (mut own, mut others) = (Memory::default(), Memory::default());
    for child in descendants(process)? {
        // A process that has ended meanwhile has no memory.
        let (Ok(memory), Ok(runs)) = (of(child), fs::read_link(format!("/proc/{child}/exe"))) else {
            continue;
        };
        if runs == program { own.add(memory) } else { others.add(memory) }
    }
    Ok((own, others))
}

fn descendants(process: u32) -> Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(child) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(status) = fs::read_to_string(format!("/proc/{child}/status")) else { continue };
        let parent = field(&status, "PPid:");
        parents.push((child, u32::try_from(parent)?));
    }
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        next += 1;
    }
    Ok(found.split_off(1))
}

/// Reads what the kernel says about the memory of a process.
pub fn parse(text: &str) -> Memory {
    Memory {
        resident: field(text, "Rss:"),
        private: field(text, "Private_Clean:") + field(text, "Private_Dirty:"),
        processes: 1,
    }
}

/// Returns the number of a line; zero without it.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
