//! The archive for every distribution.

use std::process::Command;

use anyhow::{Result, ensure};

use super::files;
use super::release::Release;
use super::tools::{digest, output_of};

/// The file name of the archive.
pub fn file_name(release: &Release) -> String {
    format!("{}.tar.gz", release.name())
}

/// Makes `NAME.tar.gz` with one folder NAME.
///
/// # Errors
/// A file cannot be copied, or tar fails.
pub(super) fn make(release: &Release) -> Result<()> {
    let stage = release.stage("archive")?;
    let folder = stage.join(release.name());
    files::copy_program(release, &folder.join("firstlight"))?;
    for page in ["README.md", "LICENSE", "CHANGELOG.md"] {
        files::copy(release, page, &folder.join(page))?;
    }
    files::copy_folder(release, "examples", &folder.join("examples"))?;
    for unit in ["firstlight.service", "bare-metal.conf", "nodes.conf"] {
        files::copy_packaging(release, unit, &folder.join("systemd").join(unit))?;
    }
    for (shell, _) in files::SHELLS {
        files::write_completion(release, shell, &folder.join("completions").join(shell))?;
    }
    files::write_man_pages(release, &folder.join("man"))?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tar.args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -n"])
        .arg(format!("--mtime=@{}", release.time));
    tar.arg("--file").arg(release.output.join(file_name(release)));
    tar.arg("--directory").arg(&stage).arg(release.name());
    output_of(&mut tar).map(drop)
}

/// Unpacks the archive and runs the program in it.
///
/// # Errors
/// The archive has another program, or one that does not run.
pub fn try_it(release: &Release) -> Result<()> {
    let stage = release.stage("unpacked")?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(release.output.join(file_name(release)));
    output_of(tar.arg("--directory").arg(&stage))?;
    let program = stage.join(release.name()).join("firstlight");
    ensure!(digest(&program)? == digest(&release.program.path)?, "the archive has another program");
    let printed = output_of(Command::new(&program).arg("--version"))?;
    ensure!(printed.contains(&release.program.version), "the program in the archive printed {printed:?}");
    std::fs::remove_dir_all(release.output.join("stage"))?;
    Ok(())
}
