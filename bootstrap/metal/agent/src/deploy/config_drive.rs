//! Builds the configuration drive: a small FAT file system that cloud-init and Ignition find by its label.

use std::io::{Cursor, Write};

use agent_protocol::ConfigDrive;
use anyhow::{Context, Result, ensure};
use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};

/// The label of the file system, and the name of its partition.
pub const LABEL: &str = "config-2";
const VOLUME_LABEL: [u8; 11] = *b"config-2   ";
/// OpenStack's limit of the drive's size.
pub const BYTES_MAX: usize = 64 << 20;
const BYTES_MIN: usize = 4 << 20;
/// The unit for the estimated size: a file's content is rounded up to it, and each file and folder adds one for its directory entries.
const CLUSTER: usize = 16 << 10;

/// Returns the content of the drive, whose length is a multiple of 1 MiB.
///
/// # Errors
/// The files do not fit, or a path is invalid.
pub fn build(drive: &ConfigDrive) -> Result<Vec<u8>> {
    let of_file = |(path, content): (&String, &String)| {
        content.len().next_multiple_of(CLUSTER) + CLUSTER * (1 + path.matches('/').count())
    };
    let needed = BYTES_MIN / 4 + drive.files.iter().map(of_file).sum::<usize>();
    let size = (needed + needed / 8).next_multiple_of(1 << 20).max(BYTES_MIN);
    ensure!(
        size <= BYTES_MAX,
        "the host's user, meta and network data take {size} bytes; a configuration drive holds {BYTES_MAX}"
    );
    let mut bytes = Cursor::new(vec![0; size]);
    fatfs::format_volume(&mut bytes, FormatVolumeOptions::new().volume_label(VOLUME_LABEL))
        .context("cannot make the configuration drive")?;
    {
        let system =
            FileSystem::new(&mut bytes, FsOptions::new()).context("cannot make the configuration drive")?;
        for (path, content) in &drive.files {
            add(&system, path, content.as_bytes())
                .with_context(|| format!("cannot put {path:?} onto the configuration drive"))?;
        }
        system.unmount().context("cannot make the configuration drive")?;
    }
    Ok(bytes.into_inner())
}

fn add(system: &FileSystem<&mut Cursor<Vec<u8>>>, path: &str, content: &[u8]) -> Result<()> {
    ensure!(
        path.split('/').all(|part| !part.is_empty() && part != "." && part != ".."),
        "this is no path below its root"
    );
    let mut folder = system.root_dir();
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    for part in parts {
        folder = folder.create_dir(part)?;
    }
    let mut file = folder.create_file(name)?;
    file.write_all(content)?;
    Ok(file.flush()?)
}
