//! The root folder of an image, before a container is made of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pod_folders::Root;

/// The number of this machine's architecture in the header of a program (elf(5), `e_machine`), and the names of those that images are made for.
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (243, "riscv64"), (22, "s390x")];

/// Checks that the program of an image can be run here.
///
/// # Errors
/// The image or the program is not there, or is for another architecture.
pub(super) fn check(image: &Path, program: &str) -> Result<()> {
    let folder = image.display();
    ensure!(image.is_dir(), "image: {folder} is no folder: unpack the image first");
    let root = Root::open(image)?;
    let file = root.file(program)?.with_context(|| {
        format!(
            "image: {folder} has no program {program}: it is damaged, or no image of a node; unpack it again"
        )
    })?;
    if let Some(other) = foreign(file)? {
        bail!(
            "image: {program} of {folder} is for the architecture {other}, and this machine has {}: take the image for it",
            std::env::consts::ARCH
        );
    }
    Ok(())
}

/// Returns the architecture of a program if it is not that of this machine. A script has none.
fn foreign(mut file: File) -> Result<Option<String>> {
    let mut header = [0; 20];
    if file.read_exact(&mut header).is_err() || header[..4] != *b"\x7fELF" {
        return Ok(None);
    }
    let bytes = [header[18], header[19]];
    // The sixth byte says in which order they are.
    let number = if header[5] == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let name = MACHINES.iter().find(|(machine, _)| *machine == number).map(|(_, name)| *name);
    match name {
        Some(name) if name == std::env::consts::ARCH => Ok(None),
        Some(name) => Ok(Some(name.to_owned())),
        None => Ok(Some(format!("number {number}"))),
    }
}
