//! Checks the packages like somebody who downloads them.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::program::Version;
use super::release::{Release, SUMS};
use super::tools::output_of;
use super::{archive, debian};

/// The newest glibc that a release may need, as the README says. A release is built on a distribution that has no newer one.
pub const GLIBC: Version = (2, 34);
/// Installs the Debian package in an empty root folder.
const INSTALLATION: &str = "bootstrap/firstlight/packaging/debian/try";

/// Checks the checksums, the program in the archive, the action for GitHub, and the Debian package in an empty root folder; for a
/// release, also that it runs on the machines that the README names.
///
/// # Errors
/// A package is not what it must be, or a program for the checks is missing.
pub(super) fn all(release: &Release, is_for_release: bool) -> Result<()> {
    if let Some((major, minor)) = release.program.glibc.filter(|glibc| *glibc > GLIBC) {
        let text = format!(
            "this program needs glibc {major}.{minor}, and the README names {}.{}: a release is built on an older distribution",
            GLIBC.0, GLIBC.1
        );
        ensure!(!is_for_release, "{text}");
        writeln!(std::io::stderr().lock(), "warning: {text}")?;
    }
    checksums(release)?;
    archive::try_it(release)?;
    action(release)?;
    let mut installation = Command::new(release.root.join(INSTALLATION));
    installation.arg(release.output.join(debian::file_name(release))).arg(&release.program.version);
    let status = installation.status().context("the Debian package cannot be tried")?;
    ensure!(status.success(), "the Debian package does not work");
    Ok(())
}

/// Runs the action for GitHub with the archive, up to a server that runs.
fn action(release: &Release) -> Result<()> {
    let step = release.stage("action")?;
    let mut script = Command::new(release.root.join(".github/actions/firstlight/install"));
    for (name, file) in [("GITHUB_PATH", "path"), ("GITHUB_ENV", "env"), ("GITHUB_OUTPUT", "output")] {
        script.env(name, step.join(file));
    }
    script.env("RUNNER_TEMP", &step).env("FIRSTLIGHT_VERSION", &release.program.version);
    script.env("FIRSTLIGHT_URL", format!("file://{}", release.output.display()));
    output_of(script.env("FIRSTLIGHT_START", "true").env("FIRSTLIGHT_OPTIONS", ""))?;
    let data = step.join("firstlight-data");
    for command in ["status", "stop"] {
        output_of(Command::new(&release.program.path).arg(command).arg("--data-dir").arg(&data))?;
    }
    std::fs::remove_dir_all(release.output.join("stage"))?;
    Ok(())
}

/// Checks all files against the checksums, with another program than the one that made them.
pub fn checksums(release: &Release) -> Result<()> {
    let mut sums = Command::new("sha256sum");
    output_of(sums.args(["--check", "--strict", "--quiet", SUMS]).current_dir(&release.output)).map(drop)
}
