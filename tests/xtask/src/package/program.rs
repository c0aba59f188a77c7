//! The packaged program: its version, and what it needs of the machine on which it runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::tools::output_of;
use crate::agent;

/// Debian's packages of the libraries that the program may need.
const PACKAGES: &[(&str, &str)] = &[
    ("libc.so.6", "libc6"),
    ("libm.so.6", "libc6"),
    ("ld-linux-x86-64.so.2", "libc6"),
    ("ld-linux-aarch64.so.1", "libc6"),
    ("libgcc_s.so.1", "libgcc-s1"),
];

/// A version of the C library, for example 2.34.
pub(super) type Version = (u32, u32);

/// The program that goes into a package.
pub(super) struct Program {
    /// Its file.
    pub(super) path: PathBuf,
    /// Its version, for example `0.1.0`.
    pub(super) version: String,
    /// The oldest glibc with which it runs; `None` for a static program.
    pub(super) glibc: Option<Version>,
    /// Debian's packages with its libraries.
    pub(super) packages: BTreeSet<&'static str>,
}

impl Program {
    /// Examines a program.
    ///
    /// # Errors
    /// It cannot be read or run, has another version than this workspace, or needs an unknown library.
    pub(super) fn examine(path: &Path) -> Result<Self> {
        let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let printed = output_of(Command::new(path).arg("--version"))?;
        let version = printed.trim().rsplit(' ').next().unwrap_or_default();
        let expected = env!("CARGO_PKG_VERSION");
        ensure!(version == expected, "{} has version {version:?}, not {expected}", path.display());
        let (glibc, packages) = if agent::is_static(&content) {
            (None, BTreeSet::new())
        } else {
            let headers = output_of(Command::new("objdump").arg("--private-headers").arg(path))?;
            (Some(glibc(&headers)?), packages(&headers)?)
        };
        Ok(Self { path: path.to_owned(), version: version.to_owned(), glibc, packages })
    }

    /// The field `Depends` of the Debian package; empty for a static program.
    pub(super) fn depends(&self) -> String {
        let bounds = self.packages.iter().map(|package| match self.glibc {
            Some((major, minor)) if *package == "libc6" => format!("libc6 (>= {major}.{minor})"),
            _ => (*package).to_owned(),
        });
        bounds.collect::<Vec<String>>().join(", ")
    }
}

/// The newest version of glibc in the version references of a program, as `objdump` prints them.
fn glibc(headers: &str) -> Result<Version> {
    let named = headers.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    let versions = named.filter_map(|version| {
        let mut numbers = version.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max().context("the program needs libraries, but no version of glibc")
}

/// The packages of the libraries that a program needs, as `objdump` prints them.
fn packages(headers: &str) -> Result<BTreeSet<&'static str>> {
    let needed = headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    needed
        .map(|library| match PACKAGES.iter().find(|(name, _)| *name == library.trim()) {
            Some((_, package)) => Ok(*package),
            None => bail!("the program needs {}, for which no package is known", library.trim()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: &str = "\
Dynamic Section:
  NEEDED               libgcc_s.so.1
  NEEDED               libc.so.6
  FLAGS_1              0x0000000008000001

Version References:
  required from libgcc_s.so.1:
    0x09276060 0x00 03 GCC_4.2.0
  required from libc.so.6:
    0x0d696917 0x00 07 GLIBC_2.7
    0x069691b4 0x00 05 GLIBC_2.34
    0x09691a75 0x00 04 GLIBC_2.2.5
";

    #[test]
    fn a_program_says_what_it_needs() {
        assert_eq!(glibc(HEADERS).unwrap(), (2, 34));
        let program = Program {
            path: PathBuf::new(),
            version: String::new(),
            glibc: Some((2, 34)),
            packages: packages(HEADERS).unwrap(),
        };
        assert_eq!(program.depends(), "libc6 (>= 2.34), libgcc-s1");
        let error = packages("  NEEDED    libssl.so.3\n").unwrap_err().to_string();
        assert!(error.contains("libssl.so.3"), "{error}");
    }
}
