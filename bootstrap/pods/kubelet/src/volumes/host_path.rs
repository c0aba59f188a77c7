//! `hostPath` volumes: a file or folder of this machine.

use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// Returns the path for a `hostPath` volume with the type `kind`, as Kubernetes documents these types
/// (<https://kubernetes.io/docs/concepts/storage/volumes/#hostpath-volume-types>).
///
/// Without a type, nothing is checked. A container runtime then makes a folder on the machine if the path does not exist, which is in the
/// way of a program that makes a socket there later. Here such a path becomes `own`, a new folder of the Pod.
///
/// # Errors
/// The path is not what its type says, or cannot be made.
pub(super) fn find(path: &str, kind: Option<&str>, own: &Path) -> Result<PathBuf> {
    let found = PathBuf::from(path);
    let kind = kind.unwrap_or_default();
    let cannot = || format!("the hostPath {path} cannot be used");
    match kind {
        "" if !found.exists() => {
            fs::create_dir_all(own).with_context(cannot)?;
            return Ok(own.to_owned());
        }
        "DirectoryOrCreate" => fs::create_dir_all(&found).with_context(cannot)?,
        "FileOrCreate" if !found.exists() => drop(fs::File::create_new(&found).with_context(cannot)?),
        _ => {}
    }
    let is = fs::metadata(&found).with_context(cannot)?.file_type();
    ensure!(fits(kind, is)?, "the hostPath {path} cannot be used: it is no {kind}");
    Ok(found)
}

/// Returns whether a file is what the type of a volume says.
fn fits(kind: &str, is: FileType) -> Result<bool> {
    Ok(match kind {
        "" => true,
        "Directory" | "DirectoryOrCreate" => is.is_dir(),
        "File" | "FileOrCreate" => is.is_file(),
        "Socket" => is.is_socket(),
        "CharDevice" => is.is_char_device(),
        "BlockDevice" => is.is_block_device(),
        _ => bail!("there is no type {kind} of a hostPath"),
    })
}
