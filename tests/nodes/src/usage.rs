//! What processes use of the machine.

use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::stage::Stage;

/// Prints what the server, and the processes that each node has on this machine, have used until now.
///
/// # Errors
/// The server has ended, or nothing can be printed.
pub fn print(stage: &Stage<'_>) -> Result<()> {
    let mut out = std::io::stdout();
    let seconds = cpu(stage.server.process()?)?;
    writeln!(out, "figure: nodes: CPU of the server until then: {seconds:.2} s")?;
    for (what, name) in [("supervisor", "firstlight-node"), ("balancer", "firstlight-node-init")] {
        for process in called(name) {
            let Ok(Memory { resident, private }) = memory(process) else { continue };
            writeln!(
                out,
                "figure: nodes: memory of a {what}: {resident} KiB, {private} KiB of it without the program"
            )?;
        }
    }
    Ok(())
}

/// Returns the CPU time of a process so far, user and system, in seconds.
///
/// # Errors
/// It has ended.
pub fn cpu(process: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("a process that runs")?;
    // proc_pid_stat(5): the name of the program, in parentheses, may contain blanks; these are the fields 14 and 15.
    let fields = stat.rsplit_once(") ").context("a state")?.1.split(' ').skip(11).take(2);
    let ticks = fields.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
    #[allow(clippy::cast_precision_loss, reason = "a few hundred a second")]
    Ok(f64::from(ticks) / rustix::param::clock_ticks_per_second() as f64)
}

/// The memory of a process, in KiB.
struct Memory {
    /// With the pages of its program and its libraries that were read.
    resident: u64,
    /// Without them.
    private: u64,
}

fn memory(process: u32) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.with_context(|| format!("{name} is missing"))
    };
    Ok(Memory { resident: field("VmRSS:")?, private: field("RssAnon:")? })
}

/// Returns the processes whose command line begins with this word.
pub fn called(word: &str) -> Vec<u32> {
    let is_called = |(process, name): (u32, String)| (name == word).then_some(process);
    running().filter_map(is_called).collect()
}

/// Returns all processes that live, each with the first word of its command line.
pub fn running() -> impl Iterator<Item = (u32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        // That of a process that has ended, and whose parent does not know yet, is empty.
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let word = line.split(|byte| *byte == 0).next().filter(|word| !word.is_empty())?;
        Some((process, String::from_utf8_lossy(word).into_owned()))
    })
}
