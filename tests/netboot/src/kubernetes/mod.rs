//! A disk image with the real programs of Kubernetes, and the container images that it needs. Everything is made here: the programs from
//! their Go modules, the rest of the system from Debian's packages.

mod archive;
mod containers;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

pub use self::containers::write_busybox;
use crate::assets::assets;

/// Debian's packages for a node. cloud-init sets routes with the program of net-tools, and enlarges the partition with that of
/// cloud-guest-utils.
const PACKAGES: &str = "containerd,runc,containernetworking-plugins,conntrack,iptables,nftables,socat,ethtool,procps,net-tools,cloud-guest-utils";

/// Makes the disk image, unless it has been made of the same things. The first time takes about 20 minutes, and needs Go, Debian's
/// packages and Go's modules.
///
/// # Errors
/// Fails if something cannot be built.
pub fn prepare() -> Result<()> {
    let (folder, here) = (folder(), Path::new(env!("CARGO_MANIFEST_DIR")));
    std::fs::create_dir_all(&folder)?;
    let (programs, debian) = (folder.join("programs"), folder.join("debian"));
    let kernel = assets().join("kernel");
    run(&here.join("programs/build"), [programs.as_os_str()])?;
    let tree = here.join("images/debian-tree");
    run(&tree, [kernel.as_os_str(), debian.as_os_str(), OsStr::new(PACKAGES)])?;
    let made_of = made_of(here, &programs, &debian)?;
    let known = folder.join("disk.made-of");
    if std::fs::read_to_string(&known).is_ok_and(|known| known == made_of) {
        return Ok(());
    }
    let archive = folder.join("images.tar");
    containers::write(&programs, &debian, &archive)?;
    let stub = assets().join("linuxx64.efi.stub");
    let disk = disk();
    run(
        &here.join("images/make-node"),
        [folder.as_os_str(), kernel.as_os_str(), stub.as_os_str(), disk.as_os_str()],
    )?;
    std::fs::remove_file(archive)?;
    std::fs::write(known, made_of)?;
    Ok(())
}

/// Returns the path of the disk image.
pub fn disk() -> PathBuf {
    folder().join("disk.qcow2")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/kubernetes-node")
}

/// Returns the hash of what a disk image is made of.
fn made_of(here: &Path, programs: &Path, debian: &Path) -> Result<String> {
    let mut files = vec![
        programs.join("made-of"),
        debian.join("made-of"),
        here.join("images/make-node"),
        here.join("images/parts"),
        here.join("images/debian.init"),
        here.join("src/kubernetes/containers.rs"),
        here.join("src/kubernetes/archive.rs"),
    ];
    let mut folders = vec![here.join("images/node")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(std::fs::read(&file).with_context(|| format!("{}", file.display()))?);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

/// Runs a script. Its output is shown.
fn run<'a>(script: &Path, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<()> {
    let status = Command::new(script).args(arguments).status();
    let status = status.with_context(|| format!("{}", script.display()))?;
    ensure!(status.success(), "{} failed", script.display());
    Ok(())
}
