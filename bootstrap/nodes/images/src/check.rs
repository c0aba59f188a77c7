//! Whether an unpacked image is one of a node.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use container_images::{Config, Root};
use system_containers::{Image, is_init, program};

use crate::limits;

/// The programs of a node, without which it cannot be started, joined or observed.
pub const PROGRAMS: [&str; 5] = ["kubeadm", "kubelet", "containerd", "ctr", "crictl"];
/// Where programs are looked for if the config has no `PATH`.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The file with the version of Kubernetes in kind's images.
const VERSION: &str = "kind/version";

/// Checks the unpacked image `name`, and returns how a container of it starts.
///
/// # Errors
/// It has no init, no kubeadm, no kubelet, no containerd with its clients, or programs for another architecture; or it is not started by root. The
/// message names the image and everything that is missing.
pub fn node(name: &str, folder: &Path, config: &Config) -> Result<Image> {
    let root = Root::open(folder)?;
    let environment = environment(config);
    let path = environment.get("PATH").map_or(PATH, String::as_str).to_owned();
    let image = || format!("the image {name} is not that of a node");
    ensure!(
        matches!(config.user.split(':').next(), Some("" | "0" | "root")),
        "{}: its config starts it as the user {:?}, and an init runs as root",
        image(),
        config.user
    );
    let command = command(&root, config, &path).with_context(image)?;
    let mut missing = Vec::new();
    for program in PROGRAMS {
        match find(&root, program, &path)? {
            Some(found) => is_for_this_machine(&root, &found).with_context(image)?,
            None => missing.push(program),
        }
    }
    lacks(&missing, &path).with_context(image)?;
    Ok(Image {
        id: folder.to_str().context("the path of the data directory is not UTF-8")?.to_owned(),
        command,
        environment,
        kubernetes: version(&root)?,
    })
}

/// Checks that no program of a node was missed in `path`.
///
/// # Errors
/// Some were; the message has their names, and what to do.
pub fn lacks(missing: &[&str], path: &str) -> Result<()> {
    ensure!(
        missing.is_empty(),
        "it has no {} in {path}; take an image in the layout of kindest/node, or make one with `firstlight image node`",
        missing.join(", no ")
    );
    Ok(())
}

/// Returns the paths at which a program is looked for, in their order. `path` is a value of the variable `PATH`.
pub fn places(program: &str, path: &str) -> impl Iterator<Item = String> {
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(move |folder| format!("{}/{program}", folder.trim_end_matches('/')))
}

/// Returns the init with its arguments. Its first word is an absolute path.
fn command(root: &Root, config: &Config, path: &str) -> Result<Vec<String>> {
    let mut words: Vec<String> = config.entrypoint.iter().chain(&config.command).cloned().collect();
    if words.is_empty() {
        words.push("/sbin/init".to_owned());
    }
    let first = find(root, &words[0], path)?;
    let first = first
        .with_context(|| format!("it has no init: it shall start {}, and does not have it", words[0]))?;
    is_for_this_machine(root, &first)?;
    words[0] = first;
    // The entrypoint of kind's images prepares the node, and becomes the init that it is told.
    if let Some(init) = words.last().filter(|last| is_init(last)) {
        ensure!(find(root, init, path)?.is_some(), "it has no init: {init} does not exist");
    }
    Ok(words)
}

/// Returns the path of a program in the image: `name` itself if it is a path.
fn find(root: &Root, name: &str, path: &str) -> Result<Option<String>> {
    if name.contains('/') {
        return Ok(is_program(root, name)?.then(|| name.to_owned()));
    }
    for found in places(name, path) {
        if is_program(root, &found)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn is_program(root: &Root, path: &str) -> Result<bool> {
    let Some(file) = root.file(path)? else { return Ok(false) };
    Ok(file.metadata().with_context(|| path.to_owned())?.permissions().mode() & 0o111 != 0)
}

fn is_for_this_machine(root: &Root, path: &str) -> Result<()> {
    let mut header = [0; program::HEADER];
    let Some(mut file) = root.file(path)? else { return Ok(()) };
    if file.read_exact(&mut header).is_ok()
        && let Some(other) = program::foreign(&header)
    {
        let own = std::env::consts::ARCH;
        bail!("{path} is for the architecture {other}, and this machine has {own}: take the image for it");
    }
    Ok(())
}

fn environment(config: &Config) -> BTreeMap<String, String> {
    let pairs = config.environment.iter().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn version(root: &Root) -> Result<Option<String>> {
    let Some(content) = root.small(VERSION, limits::VERSION)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    Ok(Some(text).filter(|text| !text.is_empty()))
}
