//! The `kubectl` beside the programs: envtest's `ControlPlane.KubectlPath` is there by default.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The file name.
const NAME: &str = "kubectl";
/// What is called where no `kubectl` is installed.
const STUB: &str = "\
#!/bin/sh
echo 'kubectl is not installed: there was none in PATH when `firstlight envtest` filled this directory. Install kubectl \
(https://kubernetes.io/docs/tasks/tools/), and run `firstlight envtest` again.' >&2
exit 1
";

/// Links the `kubectl` of `search`, in the form of `PATH`, into `directory`, or puts a program there that says what to install. What somebody
/// else has put there stays.
///
/// # Errors
/// The directory cannot be written.
pub fn install(directory: &Path, search: &OsStr) -> Result<()> {
    let path = directory.join(NAME);
    if path.exists() && !is_stub(&path) {
        return Ok(());
    }
    // A link whose target is gone does not exist, either, but takes the name.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let failed = || format!("cannot write {}", path.display());
    match installed(search, directory) {
        Some(found) => symlink(found, &path).with_context(failed),
        None => {
            fs::write(&path, STUB).with_context(failed)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).with_context(failed)
        }
    }
}

fn is_stub(path: &Path) -> bool {
    let is_as_long = fs::metadata(path).is_ok_and(|file| file.len() == STUB.len() as u64);
    is_as_long && fs::read(path).is_ok_and(|content| content == STUB.as_bytes())
}

/// Returns the first program of this name, except that of `directory`, which a user may have in `PATH`.
fn installed(search: &OsStr, directory: &Path) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(search)
        .filter_map(|folder| folder.canonicalize().ok())
        .filter(|folder| folder != directory)
        .map(|folder| folder.join(NAME))
        .find(is_program)
}
