//! Files that are generated from others, and reused while their inputs are unchanged.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use ring::digest::{self, SHA256};

/// The file beside the generated files: the checksum of their inputs and their own checksums, in the format of `sha256sum`.
const SUMS: &str = "SHA256SUMS";
/// The name of the entry for [`Inputs`] in that file.
const INPUTS: &str = "(inputs)";

/// The permission bits of the files, which contain no secret.
pub const MODE: u32 = 0o644;

/// Returns the SHA-256 checksum of a file in hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn sum(path: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    copied(&mut file, &mut io::sink()).with_context(cannot)
}

/// Copies a content to its end, and returns its SHA-256 checksum in hexadecimal digits.
pub(crate) fn copied(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<String> {
    let (mut sum, mut buffer) = (Inputs::default(), vec![0; 1 << 20]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(sum.sum()),
            Ok(count) => {
                sum.0.update(&buffer[..count]);
                to.write_all(&buffer[..count])?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A checksum of everything that files are generated from.
pub struct Inputs(digest::Context);

impl Default for Inputs {
    fn default() -> Self {
        Self(digest::Context::new(&SHA256))
    }
}

impl Inputs {
    /// Adds bytes, prefixed by their length so that adjacent inputs cannot be confused.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// Adds the content of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(&mut self, path: &Path) -> Result<()> {
        self.bytes(sum(path)?.as_bytes());
        Ok(())
    }

    fn sum(self) -> String {
        self.0.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Makes `files` in `folder`, unless they exist, are undamaged, and were made of the same `inputs`. Returns whether they were made.
/// `make` writes each of them with [`files::replace`].
///
/// # Errors
/// Errors of `make`; the folder cannot be written.
pub fn make_once(
    folder: &Path,
    inputs: Inputs,
    files: &[&str],
    make: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let (beside, inputs) = (folder.join(SUMS), inputs.sum());
    let text = || -> Result<String> {
        let mut text = format!("{inputs}  {INPUTS}\n");
        for name in files {
            text.push_str(&format!("{}  {name}\n", sum(&folder.join(name))?));
        }
        Ok(text)
    };
    let known = std::fs::read_to_string(&beside).unwrap_or_default();
    if known.starts_with(&inputs) && text().is_ok_and(|text| text == known) {
        return Ok(false);
    }
    make()?;
    let text = text()?;
    files::write(&beside, MODE, text.as_bytes())?;
    Ok(true)
}
