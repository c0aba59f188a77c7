//! Files that are generated from others, and reused while their inputs are unchanged.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use ring::digest::{self, SHA256};

/// The file beside the generated files: the checksum of their inputs and their own checksums, in the format of `sha256sum`.
const SUMS: &str = "SHA256SUMS";
/// The name of the entry for [`Inputs`] in that file.
const INPUTS: &str = "(inputs)";

/// Writes a temporary file and renames it to `path` when it is synced: after a power cut there is the old file or the new one.
///
/// # Errors
/// Errors of `write`, and of the file system.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    let mut file = File::create(&beside).with_context(|| format!("cannot write {}", beside.display()))?;
    write(&mut file)?;
    file.sync_all()
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the SHA-256 checksum of a file in hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn sum(path: &Path) -> Result<String> {
    let mut inputs = Inputs::default();
    inputs.content(path)?;
    Ok(inputs.sum())
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

    fn content(&mut self, path: &Path) -> Result<()> {
        let cannot = || format!("cannot read {}", path.display());
        let mut file = File::open(path).with_context(cannot)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).with_context(cannot)? {
                0 => return Ok(()),
                count => self.0.update(&buffer[..count]),
            }
        }
    }

    fn sum(self) -> String {
        self.0.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Makes `files` in `folder`, unless they exist, are undamaged, and were made of the same `inputs`. Returns whether they were made.
/// `make` writes each of them with [`replace`].
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
    replace(&beside, |file| Ok(file.write_all(text.as_bytes())?))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_anew_when_something_of_them_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (source, path) = (folder.path().join("source"), folder.path().join("made"));
        std::fs::write(&source, "content").unwrap();
        let again = |arguments: &str| {
            let mut inputs = Inputs::default();
            inputs.bytes(arguments.as_bytes());
            inputs.file(&source).unwrap();
            let make = || replace(&path, |file| Ok(file.write_all(arguments.as_bytes())?));
            make_once(folder.path(), inputs, &["made"], make).unwrap()
        };
        assert_eq!([again("a"), again("a"), again("b"), again("b")], [true, false, true, false]);
        assert_eq!(std::fs::read(&path).unwrap(), b"b");
        std::fs::write(&source, "other").unwrap();
        assert_eq!([again("b"), again("b")], [true, false], "the source is another");
        std::fs::write(&path, "damaged").unwrap();
        assert_eq!([again("b"), again("b")], [true, false], "somebody wrote into what was made");
        std::fs::remove_file(&path).unwrap();
        assert_eq!([again("b"), again("b")], [true, false], "it is gone");
        assert_eq!(std::fs::read(&path).unwrap(), b"b");
    }

    #[test]
    fn a_file_that_could_not_be_made_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/made");
        replace(&path, |file| Ok(file.write_all(b"old")?)).unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"half")?;
            anyhow::bail!("no more")
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert!(sum(&folder.path().join("missing")).is_err());
    }
}
