//! Builds the agent as a static program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::suite::{cargo, target};

/// Compression level. The agent is sent over the network at each start of a machine.
const LEVEL: i32 = 19;
/// C compilers for musl, by the names that the crate `cc` uses; `ring` and `zstd` contain C code.
const MUSL_COMPILERS: &[&str] = &["musl-gcc", "x86_64-linux-musl-gcc", "aarch64-linux-musl-gcc"];
/// Type of the program header that names a loader.
pub const PT_INTERP: u32 = 3;

/// Builds and compresses the agent. Returns its path.
///
/// # Errors
/// The agent does not build, or is not static.
pub fn build(root: &Path) -> Result<PathBuf> {
    let has_musl = MUSL_COMPILERS.iter().any(|name| succeeds(name, &["--version"])) && has_target(&musl());
    let (platform, flags) = if has_musl { (musl(), "") } else { (gnu(), "-C target-feature=+crt-static") };
    // Set for both platforms, so that RUSTFLAGS of the environment has no effect.
    let flags = [("RUSTFLAGS", flags)];
    cargo(
        root,
        &["build", "--profile", "agent", "--target", &platform, "--package", "firstlight-agent"],
        &flags,
    )?;
    let agent = target(root).join(platform).join("agent/firstlight-agent");
    let content = std::fs::read(&agent).with_context(|| format!("cannot read {}", agent.display()))?;
    ensure!(
        is_static(&content),
        "{} is not static: machines that boot it have no libraries",
        agent.display()
    );
    let compressed = agent.with_extension("zst");
    // A newly written file would make cargo rebuild the server, which takes minutes.
    if !is_newer(&compressed, &agent) {
        std::fs::write(&compressed, zstd::encode_all(content.as_slice(), LEVEL)?)
            .with_context(|| format!("cannot write {}", compressed.display()))?;
    }
    Ok(compressed)
}

/// Whether `made` was written after `source`; false if one of them cannot be read.
fn is_newer(made: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    time(made).zip(time(source)).is_some_and(|(made, source)| made > source)
}

fn musl() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

fn gnu() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Whether the standard library for `platform` is installed, if necessary by rustup.
fn has_target(platform: &str) -> bool {
    is_installed(platform) || (succeeds("rustup", &["target", "add", platform]) && is_installed(platform))
}

fn is_installed(platform: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", platform]);
    let output = rustc.output().ok().filter(|output| output.status.success());
    let folder = output.and_then(|output| String::from_utf8(output.stdout).ok());
    // An empty folder remains after a target was removed.
    let entries = folder.and_then(|folder| std::fs::read_dir(folder.trim()).ok());
    entries.is_some_and(|mut entries| entries.next().is_some())
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether this is a 64-bit little-endian ELF program that needs no loader.
pub fn is_static(program: &[u8]) -> bool {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = program.get(at..at.checked_add(length)?)?;
        bytes
            .iter()
            .rev()
            .try_fold(0usize, |number, byte| Some(number.checked_mul(256)? + usize::from(*byte)))
    };
    let kinds = || -> Option<Vec<usize>> {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count).map(|index| number(table.checked_add(index * size)?, 4)).collect()
    };
    let is_program = program.starts_with(b"\x7fELF\x02\x01");
    is_program && kinds().is_some_and(|kinds| !kinds.contains(&(PT_INTERP as usize)))
}
