//! The Debian package.

use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::Result;

use super::files;
use super::release::Release;
use super::tools::{file_names, output_of, write};

/// The folder of pages and examples.
const PAGES: &str = "usr/share/doc/firstlight";
/// The scripts that dpkg runs.
const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];
/// The file with the service's options, which keeps a user's changes.
const OPTIONS: &str = "etc/default/firstlight";

/// The file name of the package.
pub fn file_name(release: &Release) -> String {
    format!("firstlight_{}_{}.deb", release.program.version, architecture())
}

/// The architecture as Debian names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Makes the package.
///
/// # Errors
/// A file cannot be copied, or dpkg-deb fails.
pub(super) fn make(release: &Release) -> Result<()> {
    let stage = release.stage("debian")?;
    files::copy_program(release, &stage.join("usr/bin/firstlight"))?;
    symlink("firstlight", stage.join("usr/bin/kubectl-firstlight"))?;
    files::copy_packaging(
        release,
        "firstlight.service",
        &stage.join("usr/lib/systemd/system/firstlight.service"),
    )?;
    files::copy_packaging(release, "debian/default", &stage.join(OPTIONS))?;
    for drop_in in ["bare-metal.conf", "nodes.conf"] {
        files::copy_packaging(release, drop_in, &stage.join(PAGES).join(drop_in))?;
    }
    for (from, to) in [("README.md", "README.md"), ("CHANGELOG.md", "NEWS.md"), ("LICENSE", "copyright")] {
        files::copy(release, from, &stage.join(PAGES).join(to))?;
    }
    files::copy_folder(release, "examples", &stage.join(PAGES).join("examples"))?;
    for (shell, path) in files::SHELLS {
        files::write_completion(release, shell, &stage.join(path))?;
    }
    let pages = stage.join("usr/share/man/man1");
    files::write_man_pages(release, &pages)?;
    let names = file_names(&pages)?.into_iter().map(|name| pages.join(name));
    output_of(Command::new("gzip").args(["-9", "--no-name"]).args(names))?;
    let control = stage.join("DEBIAN");
    for script in SCRIPTS {
        files::copy_packaging(release, &format!("debian/{script}"), &control.join(script))?;
    }
    write(&control.join("conffiles"), format!("/{OPTIONS}\n").as_bytes())?;
    write(&control.join("control"), fields(release).as_bytes())?;
    // The user's umask has no effect on the package.
    output_of(Command::new("chmod").args(["--recursive", "u=rwX,go=rX"]).arg(&stage))?;
    let mut dpkg = Command::new("dpkg-deb");
    // The fastest level of xz still makes a smaller file than the best one of gzip.
    dpkg.args(["--root-owner-group", "-Zxz", "-z1", "--build"]).env("SOURCE_DATE_EPOCH", &release.time);
    dpkg.arg(&stage).arg(release.output.join(file_name(release)));
    output_of(&mut dpkg).map(drop)
}

/// The fields of the package.
fn fields(release: &Release) -> String {
    let depends = release.program.depends();
    let depends = if depends.is_empty() { depends } else { format!("Depends: {depends}\n") };
    format!(
        "Package: firstlight\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: the firstlight project <firstlight@localhost>\n\
         Section: admin\n\
         Priority: optional\n\
         {depends}Suggests: systemd\n\
         Description: Cluster API management cluster in one process\n \
         firstlight brings up a first Cluster API management cluster: an API server,\n \
         Cluster API's controllers and a store in one process. It also starts and\n \
         installs bare metal, and hands its clusters over to another cluster.\n \
         .\n \
         The service is not enabled: systemctl enable --now firstlight\n",
        release.program.version,
        architecture(),
    )
}
