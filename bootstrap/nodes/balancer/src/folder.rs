//! The configuration of a balancer, as a file. Whoever writes it replaces it at once, so that it is never read half.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use system_containers::balancer::{CONFIGURATION, Configuration, STATUS};

use crate::limits;

/// The file with the configuration.
const FILE: &str = "balancer.json";
/// A balancer is not root, and has no secrets. The data directory above is private.
const MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// Only root asks for the status.
const STATUS_MODE: u32 = 0o700;

/// By this, another file of the same name is known.
pub(crate) type Stamp = (u64, i64, i64, u64);

fn file(folder: &Path) -> PathBuf {
    folder.join(CONFIGURATION).join(FILE)
}

/// Makes the folder of a balancer, and writes its configuration there, unless it is there already. Returns whether it was written.
///
/// # Errors
/// The configuration cannot be used, or the file cannot be written.
pub fn write(folder: &Path, configuration: &Configuration) -> Result<bool> {
    configuration.check()?;
    files::make_folder(&folder.join(STATUS), STATUS_MODE)?;
    let mut text = serde_json::to_vec_pretty(configuration)?;
    text.push(b'\n');
    let path = file(folder);
    if fs::read(&path).is_ok_and(|before| before == text) {
        return Ok(false);
    }
    let above = folder.join(CONFIGURATION);
    files::make_folder(&above, FOLDER_MODE)?;
    let allow = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    // The file mode creation mask of this process may be stricter.
    allow(&above, FOLDER_MODE).with_context(|| format!("cannot change {}", above.display()))?;
    files::replace(&path, MODE, |file| {
        file.set_permissions(Permissions::from_mode(MODE))?;
        Ok(file.write_all(&text)?)
    })?;
    Ok(true)
}

/// Returns by what the present configuration is known; `None` if there is none.
pub(crate) fn stamp(folder: &Path) -> Option<Stamp> {
    let found = fs::metadata(file(folder)).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
}

/// Reads the configuration.
///
/// # Errors
/// It is not there, or cannot be used: the error says where it is wrong.
pub(crate) fn read(folder: &Path) -> Result<Configuration> {
    let path = file(folder);
    let cannot = || format!("cannot read {}", path.display());
    let mut text = Vec::new();
    let opened = File::open(&path).with_context(cannot)?;
    opened.take(limits::CONFIGURATION + 1).read_to_end(&mut text).with_context(cannot)?;
    let most = limits::CONFIGURATION;
    ensure!(text.len() as u64 <= most, "{} has more than {most} bytes", path.display());
    let damaged = || format!("{} is no configuration of a balancer", path.display());
    let configuration: Configuration = serde_json::from_slice(&text).with_context(damaged)?;
    configuration.check().with_context(damaged)?;
    Ok(configuration)
}
