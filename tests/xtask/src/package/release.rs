//! What is packaged, and where.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::program::Program;

/// The file with the digests of all other files, in the format of `sha256sum`.
pub const SUMS: &str = "SHA256SUMS";

/// What is packaged.
pub struct Release {
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The folder of the packages.
    pub output: PathBuf,
    /// The server's binary.
    pub program: Program,
    /// The time of all packaged files in seconds since 1970, which makes packages of one commit equal.
    pub(super) time: String,
}

impl Release {
    /// The name of the package for this machine's architecture, without its ending.
    pub fn name(&self) -> String {
        format!("firstlight-{}-{}-linux", self.program.version, std::env::consts::ARCH)
    }

    /// A folder for intermediate files, which is empty.
    pub(super) fn stage(&self, name: &str) -> Result<PathBuf> {
        let folder = self.output.join("stage").join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }
}
