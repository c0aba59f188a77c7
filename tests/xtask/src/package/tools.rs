//! Files and programs, with errors that name them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// The names of the files in a folder, sorted.
pub fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// The SHA-256 digest of a file, as lower-case hexadecimal digits.
pub fn digest(path: &Path) -> Result<String> {
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file and creates its folder if necessary.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// The standard output of a command that must succeed.
pub fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be run"))?;
    let printed = || String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).trim().to_owned();
    ensure!(output.status.success(), "{command:?} failed ({}): {}", output.status, printed());
    String::from_utf8(output.stdout).with_context(|| format!("the output of {name} is not UTF-8"))
}
