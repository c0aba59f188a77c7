//! The programs of a node: those of Kubernetes, and those that it needs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::tree::Tree;

/// The programs that the folder of binaries must have.
const OF_KUBERNETES: [&str; 3] = ["kubeadm", "kubelet", "kubectl"];
/// The programs that a node needs besides, from the folder of binaries or from the Debian, and the packages of Debian that have them.
const OTHERS: [(&str, &str); 12] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("crictl", "none of Debian: github.com/kubernetes-sigs/cri-tools"),
    ("conntrack", "conntrack"),
    ("ethtool", "ethtool"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("mount", "mount"),
    ("nsenter", "util-linux"),
    ("systemctl", "systemd"),
];
/// The plugins for the network of Pods, and where the installers of such networks expect them.
const PLUGINS: [&str; 4] = ["bridge", "host-local", "loopback", "portmap"];
const PLUGIN_FOLDER: &str = "/opt/cni/bin";
/// Where Debian has them.
const PLUGIN_FOLDER_OF_DEBIAN: &str = "/usr/lib/cni";
/// Where the programs of the folder go, and where all others are looked for.
const FOLDER: &str = "/usr/bin";
const FOLDERS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"];

/// Checks the folder of binaries, before anything is done.
///
/// # Errors
/// A program of Kubernetes is missing.
pub(super) fn check_folder(folder: &Path) -> Result<()> {
    let missing: Vec<&str> = OF_KUBERNETES.into_iter().filter(|name| !folder.join(name).is_file()).collect();
    ensure!(
        missing.is_empty(),
        "{} has no {}: put the programs of the Kubernetes release there, from https://dl.k8s.io",
        folder.display(),
        missing.join(", no ")
    );
    Ok(())
}

/// Copies the known programs and plugins of the folder. Several names of one file stay that, because one program may be all of Kubernetes.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn copy(tree: &Tree, folder: &Path) -> Result<()> {
    let mut copied: BTreeMap<PathBuf, String> = BTreeMap::new();
    let programs = OF_KUBERNETES.into_iter().chain(OTHERS.map(|(name, _)| name));
    let programs = programs.map(|name| (FOLDER, name));
    for (place, name) in programs.chain(PLUGINS.map(|name| (PLUGIN_FOLDER, name))) {
        let source = folder.join(name);
        if !source.is_file() {
            continue;
        }
        let cannot = || format!("cannot read {}", source.display());
        let source = fs::canonicalize(&source).with_context(cannot)?;
        let target = format!("{place}/{name}");
        match copied.get(&source) {
            Some(first) => tree.second_name(&target, first)?,
            None => tree.write(&target, 0o755, File::open(&source).with_context(cannot)?)?,
        }
        // One of the Debian in another folder would come first.
        for other in FOLDERS.iter().filter(|other| place == FOLDER && **other != FOLDER) {
            if tree.has(&format!("{other}/{name}"))? {
                tree.remove(&format!("{other}/{name}"))?;
            }
        }
        copied.entry(source).or_insert(target);
    }
    Ok(())
}

/// Checks that the tree has all programs of a node, gives plugins their usual place, and returns the path of containerd.
///
/// # Errors
/// Programs are missing; the message names all of them, and where they belong.
pub(super) fn check(tree: &Tree, binaries: &Path) -> Result<String> {
    let mut missing = Vec::new();
    let mut containerd = String::new();
    for (name, package) in OTHERS {
        match find(tree, name)? {
            Some(path) if name == "containerd" => containerd = path,
            Some(_) => {}
            None => missing.push(format!("{FOLDER}/{name} (Debian's package: {package})")),
        }
    }
    if !tree.has("/sbin/init")? {
        missing.push("/sbin/init (Debian's package: systemd-sysv)".to_owned());
    }
    for name in tree.names(PLUGIN_FOLDER_OF_DEBIAN)? {
        let usual = format!("{PLUGIN_FOLDER}/{name}");
        if !tree.has(&usual)? {
            tree.second_name(&usual, &format!("{PLUGIN_FOLDER_OF_DEBIAN}/{name}"))?;
        }
    }
    for name in PLUGINS {
        if !tree.has(&format!("{PLUGIN_FOLDER}/{name}"))? {
            missing.push(format!("{PLUGIN_FOLDER}/{name} (Debian's package: containernetworking-plugins)"));
        }
    }
    ensure!(
        missing.is_empty(),
        "programs of a node are missing: {}. Add them to the root archive there, or put them into {}",
        missing.join(", "),
        binaries.display()
    );
    Ok(containerd)
}

fn find(tree: &Tree, name: &str) -> Result<Option<String>> {
    for folder in FOLDERS {
        let path = format!("{folder}/{name}");
        if tree.has(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
