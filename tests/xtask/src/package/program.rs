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
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// Its version, for example `0.1.0`.
    pub version: String,
    /// The oldest glibc with which it runs; `None` for a static program.
    pub glibc: Option<Version>,
    /// Debian's packages with its libraries.
    pub packages: BTreeSet<&'static str>,
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
    pub fn depends(&self) -> String {
        let bounds = self.packages.iter().map(|package| match self.glibc {
            Some((major, minor)) if *package == "libc6" => format!("libc6 (>= {major}.{minor})"),
            _ => (*package).to_owned(),
        });
        bounds.collect::<Vec<String>>().join(", ")
    }
}

/// The newest version of glibc in the version references of a program, as `objdump` prints them.
pub fn glibc(headers: &str) -> Result<Version> {
    let named = headers.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    let versions = named.filter_map(|version| {
        let mut numbers = version.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max().context("the program needs libraries, but no version of glibc")
}

/// The packages of the libraries that a program needs, as `objdump` prints them.
pub fn packages(headers: &str) -> Result<BTreeSet<&'static str>> {
    let needed = headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    needed
        .map(|library| match PACKAGES.iter().find(|(name, _)| *name == library.trim()) {
            Some((_, package)) => Ok(*package),
            None => bail!("the program needs {}, for which no package is known", library.trim()),
        })
        .collect()
}
