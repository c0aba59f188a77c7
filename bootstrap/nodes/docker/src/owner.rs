//! The name of a data directory, by which its containers are known. It moves with the directory.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use machinery::random::Random;

/// The number of hexadecimal digits.
const DIGITS: usize = 16;

/// Returns the name of a data directory, and gives it one if it has none.
///
/// # Errors
/// The directory cannot be read or written, or the file with the name is damaged.
pub(crate) fn of(data: &Path, random: &Random) -> Result<String> {
    files::make_folder(data, 0o700)?;
    let path = data.join("owner");
    // Two processes may be the first ones.
    let _lock = files::lock(&data.join("lock"))?;
    if !path.exists() {
        files::write(&path, 0o600, format!("{:016x}", random.number()).as_bytes())?;
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_name = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(is_name, "{} is damaged: remove it if the directory has no nodes", path.display());
    Ok(text)
}
