//! Implements `cargo xtask package`: everything that a release consists of, in `target/packages`.

pub mod archive;
pub mod bill;
pub mod check;
pub mod debian;
pub mod files;
pub mod program;
mod provenance;
pub mod release;
pub mod tools;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::suite;
use program::Program;
use release::{Release, SUMS};
use tools::{digest, file_names, output_of, write};

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
pub fn make(root: &Path, program: Program, output: &Path, with_provenance: bool) -> Result<Release> {
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
