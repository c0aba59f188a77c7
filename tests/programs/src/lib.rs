//! The programs of a Kubernetes node, built from their Go modules by the script `build`, and the container images with them.

mod archive;
mod containers;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

pub use containers::{WEB, write, write_busybox, write_web};

/// Returns the version of Kubernetes whose modules are locked here, for example `v1.36.3`.
pub fn version() -> &'static str {
    let line = include_str!("../kubernetes/go.mod")
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    line.unwrap_or_default().trim()
}

/// Builds the programs, unless they are there, and returns their folder. `other` is a version that the programs of Kubernetes shall have
/// instead of their own.
///
/// # Errors
/// Fails if something cannot be built. It needs Go and, the first time, Go's modules.
pub fn build(other: Option<&str>) -> Result<PathBuf> {
    let folder = |version: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/programs").join(version)
    };
    let own = folder(version());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("build");
    run(&script, [own.as_os_str()])?;
    let Some(other) = other else { return Ok(own) };
    let stamped = folder(other);
    run(&script, [stamped.as_os_str(), other.as_ref(), own.as_os_str()])?;
    Ok(stamped)
}

/// Runs a script. Its output is shown.
///
/// # Errors
/// It cannot be started, or fails.
pub fn run<'a>(script: &Path, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<()> {
    let status = Command::new(script).args(arguments).status();
    let status = status.with_context(|| format!("{}", script.display()))?;
    ensure!(status.success(), "{} failed", script.display());
    Ok(())
}

/// Makes something of files and folders by `make`, unless `known`, a file that is written then, says that it has been made of the same ones.
///
/// # Errors
/// A file cannot be read or written, and the errors of `make`.
pub fn once(known: &Path, made_of: &[PathBuf], make: impl FnOnce() -> Result<()>) -> Result<()> {
    let hash = hash(made_of)?;
    if std::fs::read_to_string(known).is_ok_and(|known| known == hash) {
        return Ok(());
    }
    make()?;
    std::fs::write(known, hash).with_context(|| format!("{}", known.display()))
}

/// Returns a hash of files and of everything in folders.
fn hash(paths: &[PathBuf]) -> Result<String> {
    let (mut files, mut left) = (Vec::new(), paths.to_vec());
    while let Some(path) = left.pop() {
        let cannot = || format!("{}", path.display());
        if path.is_dir() {
            for entry in std::fs::read_dir(&path).with_context(cannot)? {
                left.push(entry?.path());
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(std::fs::read(&file).with_context(|| format!("{}", file.display()))?);
    }
    Ok(hexadecimal(&hash.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
