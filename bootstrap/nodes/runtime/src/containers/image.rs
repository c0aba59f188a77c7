//! The root folder of an image, before a container is made of it.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pod_folders::Root;
use system_containers::program;

/// Checks that the program of an image can be run here.
///
/// # Errors
/// The image or the program is not there, or is for another architecture.
pub(super) fn check(image: &Path, init: &str) -> Result<()> {
    let folder = image.display();
    ensure!(image.is_dir(), "image: {folder} is no folder: unpack the image first");
    let root = Root::open(image)?;
    let mut file = root.file(init)?.with_context(|| {
        format!(
            "image: {folder} has no program {init}: it is damaged, or no image of a node; unpack it again"
        )
    })?;
    let mut header = [0; program::HEADER];
    if file.read_exact(&mut header).is_ok()
        && let Some(other) = program::foreign(&header)
    {
        bail!(
            "image: {init} of {folder} is for the architecture {other}, and this machine has {}: take the image for it",
            std::env::consts::ARCH
        );
    }
    Ok(())
}
