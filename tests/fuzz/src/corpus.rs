//! The corpus of inputs: `corpus/TARGET/NAME`.

use std::path::{Path, PathBuf};

/// Returns the folder of a target's inputs.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Returns the inputs of a target, sorted by name.
pub fn read(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Adds an input to the corpus; returns its file.
///
/// # Errors
/// Returns the errors of the file system.
pub fn keep(target: &str, prefix: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    // FNV-1a, used only for the name.
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder(target).join(format!("{prefix}-{hash:016x}"));
    std::fs::write(&path, input)?;
    Ok(path)
}
