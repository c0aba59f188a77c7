//! The files of packages, besides the program.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::release::Release;
use super::tools::{file_names, output_of, write};

/// The shells with a completion script, and the script's name in Debian's folders.
pub(super) const SHELLS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/firstlight"),
    ("fish", "usr/share/fish/vendor_completions.d/firstlight.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_firstlight"),
];
/// The folder with the files that exist only for packages.
const PACKAGING: &str = "bootstrap/firstlight/packaging";

/// Copies a file of the workspace into a package.
pub(super) fn copy(release: &Release, from: &str, to: &Path) -> Result<()> {
    let source = release.root.join(from);
    let content = std::fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
    write(to, &content)?;
    set_mode(to, is_executable(&source)?)
}

/// Copies a file that exists only for packages.
pub(super) fn copy_packaging(release: &Release, name: &str, to: &Path) -> Result<()> {
    copy(release, &format!("{PACKAGING}/{name}"), to)
}

/// Copies all files of a folder of the workspace, and of the folders in it.
pub(super) fn copy_folder(release: &Release, from: &str, to: &Path) -> Result<()> {
    let listed = output_of(Command::new("git").args(["ls-files", from]).current_dir(&release.root))?;
    for path in listed.lines() {
        let inside = Path::new(path).strip_prefix(from).context("git lists a file of another folder")?;
        copy(release, path, &to.join(inside))?;
    }
    Ok(())
}

/// Copies the program.
pub(super) fn copy_program(release: &Release, to: &Path) -> Result<()> {
    let source = &release.program.path;
    let content = std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    write(to, &content)?;
    set_mode(to, true)
}

/// Writes the completion script of a shell.
pub(super) fn write_completion(release: &Release, shell: &str, to: &Path) -> Result<()> {
    let script = output_of(Command::new(&release.program.path).args(["completion", shell]))?;
    write(to, script.as_bytes())?;
    set_mode(to, false)
}

/// Writes the manual pages of all commands.
pub(super) fn write_man_pages(release: &Release, to: &Path) -> Result<()> {
    output_of(Command::new(&release.program.path).arg("man-pages").arg(to))?;
    for page in file_names(to)? {
        set_mode(&to.join(page), false)?;
    }
    Ok(())
}

fn is_executable(path: &Path) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(path.metadata()?.permissions().mode() & 0o100 != 0)
}

/// Sets permissions that do not depend on the user's umask.
pub fn set_mode(path: &Path, is_executable: bool) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if is_executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the permissions of {}", path.display()))
}
