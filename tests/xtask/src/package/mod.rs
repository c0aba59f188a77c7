//! Implements `cargo xtask package`: everything that a release consists of, in `target/packages`.

mod archive;
mod bill;
mod check;
mod debian;
mod files;
mod program;
mod provenance;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::suite;
use program::Program;

/// The file with the digests of all other files, in the format of `sha256sum`.
const SUMS: &str = "SHA256SUMS";

/// What is packaged.
struct Release {
    /// The folder of the workspace.
    root: PathBuf,
    /// The folder of the packages.
    output: PathBuf,
    /// The server's binary.
    program: Program,
    /// The time of all packaged files in seconds since 1970, which makes packages of one commit equal.
    time: String,
}

impl Release {
    /// The name of the package for this machine's architecture, without its ending.
    fn name(&self) -> String {
        format!("firstlight-{}-{}-linux", self.program.version, std::env::consts::ARCH)
    }

    /// A folder for intermediate files, which is empty.
    fn stage(&self, name: &str) -> Result<PathBuf> {
        let folder = self.output.join("stage").join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }
}

/// Makes the packages of the release binary, or of the one that `FIRSTLIGHT_BINARY` names, and checks them: archive, Debian
/// package, container image, list of its crates, provenance, checksums. No provenance is written for a given binary,
/// because nobody knows how it was built.
///
/// # Errors
/// A build, a program that makes a package, or a check fails.
pub fn run(root: &Path, is_for_release: bool) -> Result<()> {
    let is_given = std::env::var_os("FIRSTLIGHT_BINARY").is_some();
    let program = Program::examine(Path::new(&suite::server(root)?))?;
    let output = suite::target(root).join("packages");
    let release = make(root, program, &output, !is_given)?;
    check::all(&release, is_for_release)?;
    let mut out = std::io::stdout().lock();
    for name in file_names(&output)? {
        writeln!(out, "{}", output.join(name).display())?;
    }
    Ok(())
}

/// Makes the packages in `output`, whose earlier content is deleted.
fn make(root: &Path, program: Program, output: &Path, with_provenance: bool) -> Result<Release> {
    if output.exists() {
        std::fs::remove_dir_all(output).with_context(|| format!("cannot empty {}", output.display()))?;
    }
    std::fs::create_dir_all(output).with_context(|| format!("cannot create {}", output.display()))?;
    let time = output_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let release =
        Release { root: root.to_owned(), output: output.to_owned(), program, time: time.trim().to_owned() };
    let bill = bill::of(root, &release.program)?;
    write(&output.join(format!("{}.cdx.json", release.name())), &serde_json::to_vec_pretty(&bill)?)?;
    archive::make(&release)?;
    debian::make(&release)?;
    let image = output.join(format!("{}.oci.tar", release.name()));
    output_of(Command::new(&release.program.path).arg("image").arg("--output").arg(&image))?;
    std::fs::remove_dir_all(output.join("stage"))?;
    if with_provenance {
        let statement = provenance::of(&release)?;
        let path = output.join(format!("{}.provenance.json", release.name()));
        write(&path, &serde_json::to_vec_pretty(&statement)?)?;
    }
    let sums: Result<String> = file_names(output)?
        .into_iter()
        .map(|name| Ok(format!("{}  {name}\n", digest(&output.join(&name))?)))
        .collect();
    write(&output.join(SUMS), sums?.as_bytes())?;
    Ok(release)
}

/// The names of the files in a folder, sorted.
fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// The SHA-256 digest of a file, as lower-case hexadecimal digits.
fn digest(path: &Path) -> Result<String> {
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file and creates its folder if necessary.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// The standard output of a command that must succeed.
fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be run"))?;
    let printed = || String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).trim().to_owned();
    ensure!(output.status.success(), "{command:?} failed ({}): {}", output.status, printed());
    String::from_utf8(output.stdout).with_context(|| format!("the output of {name} is not UTF-8"))
}

#[cfg(test)]
mod tests;
