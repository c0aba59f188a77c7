//! A disk image with the real programs of Kubernetes, and the container images that it needs. Everything is made here: the programs from
//! their Go modules, the rest of the system from Debian's packages.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

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
    let programs = node_programs::build(None)?;
    let debian = folder.join("debian");
    let kernel = assets().join("kernel");
    let tree = here.join("images/debian-tree");
    node_programs::run(&tree, [kernel.as_os_str(), debian.as_os_str(), OsStr::new(PACKAGES)])?;
    let images = here.join("images");
    let made_of = [
        programs.join("made-of"),
        debian.join("made-of"),
        images.join("make-node"),
        images.join("parts"),
        images.join("debian.init"),
        images.join("node"),
        here.join("../programs/src"),
    ];
    node_programs::once(&folder.join("disk.made-of"), &made_of, || make(&programs, &folder))
}

fn make(programs: &Path, folder: &Path) -> Result<()> {
    let (archive, kernel, stub) =
        (folder.join("images.tar"), assets().join("kernel"), assets().join("linuxx64.efi.stub"));
    node_programs::write(programs, &folder.join("debian"), &archive)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/make-node");
    let disk = disk();
    let arguments = [folder, programs, &kernel, &stub, &disk];
    node_programs::run(&script, arguments.map(Path::as_os_str))?;
    Ok(std::fs::remove_file(archive)?)
}

/// Returns the path of the disk image.
pub fn disk() -> PathBuf {
    folder().join("disk.qcow2")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/kubernetes-node")
}
