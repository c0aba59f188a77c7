//! Writes the content of a volume to a folder of this machine.
//!
//! The files of ConfigMaps, Secrets and tokens are replaced all at once, as by a kubelet: each file is a link into `..data`, which is a link to
//! a folder with all of them. A reader sees either all old or all new files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Content, host_path};

const DATA: &str = "..data";

/// Writes a volume, and returns its path. `generation` is a number that grows with each write. `group` is the group of its files
/// (`fsGroup`); only root can set it.
///
/// # Errors
/// The folder cannot be written, or a path of this machine is not what its type says.
pub fn write(folder: &Path, content: &Content, generation: u64, group: Option<u32>) -> Result<PathBuf> {
    let cannot = || format!("cannot write the volume {}", folder.display());
    match content {
        Content::Host(path, kind) => return host_path::find(path, kind.as_deref(), folder),
        Content::Empty => {
            fs::create_dir_all(folder).with_context(cannot)?;
            // As a kubelet's: every user of the Pod may write.
            fs::set_permissions(folder, Permissions::from_mode(0o777)).with_context(cannot)?;
            own(folder, group).with_context(cannot)?;
        }
        Content::Files(files) => replace(folder, files, generation, group).with_context(cannot)?,
    }
    Ok(folder.to_owned())
}

fn replace(
    folder: &Path,
    files: &BTreeMap<String, (Vec<u8>, u32)>,
    generation: u64,
    group: Option<u32>,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    let data = folder.join(DATA);
    let old = fs::read_link(&data).ok();
    if old.is_some() && is_same(&data, files) {
        return Ok(());
    }
    let name = format!("..{generation}");
    let new = folder.join(&name);
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    DirBuilder::new().mode(0o755).create(&new)?;
    for (path, (content, mode)) in files {
        let path = new.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(content)?;
        let group_reads = if group.is_some() { 0o040 } else { 0 };
        fs::set_permissions(&path, Permissions::from_mode(mode | group_reads))?;
        own(&path, group)?;
    }
    let link = folder.join("..data_tmp");
    fs::remove_file(&link).ok();
    symlink(&name, &link)?;
    fs::rename(&link, &data)?;
    visible(folder, files)?;
    if let Some(old) = old {
        fs::remove_dir_all(folder.join(old)).ok();
    }
    Ok(())
}

/// Makes a link for the first part of each path, and removes the others.
fn visible(folder: &Path, files: &BTreeMap<String, (Vec<u8>, u32)>) -> Result<()> {
    let wanted: BTreeSet<&str> = files.keys().filter_map(|path| path.split('/').next()).collect();
    for name in &wanted {
        let link = folder.join(name);
        if fs::symlink_metadata(&link).is_err() {
            symlink(Path::new(DATA).join(name), link)?;
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("..") && !wanted.contains(name.as_str()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_same(data: &Path, files: &BTreeMap<String, (Vec<u8>, u32)>) -> bool {
    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
    }
    files.iter().all(|(path, (content, _))| fs::read(data.join(path)).is_ok_and(|found| found == *content))
        && count(data) == files.len()
}

fn own(path: &Path, group: Option<u32>) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    match group.filter(|_| is_root) {
        Some(group) => Ok(chown(path, None, Some(group))?),
        None => Ok(()),
    }
}
