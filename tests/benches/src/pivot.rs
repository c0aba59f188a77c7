//! Benchmark of a pivot of many clusters between two servers: time and memory of the command, and of
//! `clusterctl move` back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use machinery::random::Random;

use crate::bench::{Bench, print};
use crate::clusters;
use crate::server::Server;

/// Interval between readings of a process's memory.
const LOOK: Duration = Duration::from_millis(10);
/// Limit for each command.
const LIMIT: Duration = Duration::from_secs(1800);
const UID: usize = 36;
/// Name of the cluster that the others are copies of.
const FIRST: &str = "zero";

/// Measures each number of clusters once, since the runs are long.
pub async fn run(bench: &Bench) -> Result<()> {
    for count in &bench.clusters {
        let name = format!("pivot of {count} clusters");
        if name.contains(&bench.only) {
            pivot(bench, &name, *count).await?;
        }
    }
    Ok(())
}

async fn pivot(bench: &Bench, name: &str, count: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (one, many) = (folder.path().join("one"), folder.path().join("many"));
    save_one(bench, &one).await?;
    let files = multiply(&one, &many, count)?;
    let without = ["--controllers", "none"];
    let from = Server::start(&bench.binary, &without, &bench.clock).await?;
    let to = Server::start(&bench.binary, &without, &bench.clock).await?;
    let journal = |name: &str| folder.path().join(name);
    let mut fill = Command::new(&bench.binary);
    fill.args(["move", "--from-directory"]).arg(&many).arg("--to-kubeconfig").arg(from.kubeconfig());
    measured(bench, fill.arg("--journal").arg(journal("filled"))).await?;
    let mut ours = Command::new(&bench.binary);
    ours.arg("pivot").arg("--kubeconfig").arg(from.kubeconfig()).arg("--to-kubeconfig").arg(to.kubeconfig());
    let figures = measured(bench, ours.arg("--journal").arg(journal("moved"))).await?;
    print(&format!("| {name}, {files} objects | {:.3} s, {:.0} MB | |", figures.seconds, figures.memory));
    let Some(clusterctl) = &bench.clusterctl else { return Ok(()) };
    let mut theirs = Command::new(clusterctl);
    theirs.arg("move").arg("--kubeconfig").arg(to.kubeconfig()).arg("--to-kubeconfig").arg(from.kubeconfig());
    let figures = measured(bench, &mut theirs).await?;
    print(&format!("| … back with clusterctl move | {:.3} s, {:.0} MB | |", figures.seconds, figures.memory));
    Ok(())
}

/// Creates a cluster of one control plane machine and two workers, and saves its objects.
async fn save_one(bench: &Bench, folder: &Path) -> Result<()> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    clusters::bring_up(&server, FIRST, (1, 2)).await?;
    std::fs::create_dir(folder)?;
    let mut save = Command::new(&bench.binary);
    save.arg("move").arg("--kubeconfig").arg(server.kubeconfig()).arg("--to-directory").arg(folder);
    measured(bench, save.arg("--journal").arg(folder.with_extension("journal"))).await.map(drop)
}

/// Copies the objects under other names and UIDs; returns the number of objects.
fn multiply(one: &Path, many: &Path, count: usize) -> Result<usize> {
    std::fs::create_dir(many)?;
    let random = Random::system();
    let mut files: Vec<(String, String)> = Vec::new();
    for entry in std::fs::read_dir(one)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // firstlight's own files contain checksums that would not match.
        if !name.starts_with("firstlight-") {
            files.push((name, std::fs::read_to_string(path)?));
        }
    }
    let uids: BTreeSet<String> = files.iter().flat_map(|(_, text)| uids(text)).collect();
    for number in 0..count {
        let new: Vec<(&String, String)> = uids.iter().map(|uid| (uid, random.uid())).collect();
        for (name, text) in &files {
            let mut text = named(text, number);
            for (old, new) in &new {
                text = text.replace(*old, new);
            }
            std::fs::write(many.join(named(name, number)), text)?;
        }
    }
    Ok(files.len() * count)
}

/// Returns the text for another cluster: renames the cluster wherever its name is a separate word.
pub fn named(text: &str, number: usize) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(FIRST) {
        let (before, found) = rest.split_at(at);
        let inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
        let is_name = !inside(before.chars().next_back()) && !inside(found[FIRST.len()..].chars().next());
        renamed.push_str(before);
        renamed.push_str(&if is_name { format!("c{number}") } else { FIRST.to_owned() });
        rest = &found[FIRST.len()..];
    }
    renamed.push_str(rest);
    renamed
}

/// Returns the UIDs in a text.
pub fn uids(text: &str) -> Vec<String> {
    let is_uid = |part: &[u8]| {
        part.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        })
    };
    let found = text.as_bytes().windows(UID).filter(|part| is_uid(part));
    found.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

struct Figures {
    seconds: f64,
    /// Peak memory in MB.
    memory: f64,
}

/// Runs a command to completion and measures it.
async fn measured(bench: &Bench, command: &mut Command) -> Result<Figures> {
    let log = tempfile::NamedTempFile::new()?;
    let started = bench.clock.monotonic();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(log.reopen()?)
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut memory: f64 = 0.0;
    loop {
        let seconds = (bench.clock.monotonic() - started).as_secs_f64();
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        memory =
            peak.and_then(|peak| peak.parse::<f64>().ok()).map_or(memory, |peak| memory.max(peak / 1024.0));
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(Figures { seconds, memory }),
            Some(_) => bail!("{command:?}: {}", std::fs::read_to_string(log.path())?),
            None if seconds > LIMIT.as_secs_f64() => {
                child.kill()?;
                bail!("{command:?} has not ended after {LIMIT:?}");
            }
            None => bench.clock.sleep(LOOK).await,
        }
    }
}
