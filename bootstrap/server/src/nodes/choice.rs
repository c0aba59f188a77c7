//! What runs the nodes of a data directory: chosen once, and remembered there, so that each later process finds them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::NodeRuntime;

/// The file with the choice, in the folder of nodes.
const FILE: &str = "runtime";

/// What can run nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This program itself.
    Own,
    /// Docker.
    Docker,
    /// Podman.
    Podman,
}

impl Choice {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Own, Self::Docker, Self::Podman];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Returns what an option names; `None` if it leaves the choice open.
    ///
    /// # Errors
    /// Nothing shall run nodes here.
    pub fn named(option: NodeRuntime) -> Result<Option<Self>> {
        Ok(match option {
            NodeRuntime::Auto => None,
            NodeRuntime::Own => Some(Self::Own),
            NodeRuntime::Docker => Some(Self::Docker),
            NodeRuntime::Podman => Some(Self::Podman),
            NodeRuntime::None => bail!("no nodes run here: --node-runtime is none"),
        })
    }

    /// Returns what runs the nodes of a data directory so far; `None` if nothing was chosen.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn remembered(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let found = Self::ALL.into_iter().find(|choice| choice.word() == text.trim());
        let damaged = || {
            format!(
                "{} says {:?} instead of own, docker or podman: write what runs the nodes into it",
                path.display(),
                text.trim()
            )
        };
        found.map(Some).with_context(damaged)
    }

    /// Remembers what runs the nodes of a data directory.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remember(self, folder: &Path) -> Result<()> {
        match Self::remembered(folder).ok().flatten() {
            Some(before) if before == self => return Ok(()),
            Some(before) => tracing::warn!(
                "nodes of this data directory were run by {} so far and are run by {} now: what is left in {} is removed with its own commands",
                before.word(),
                self.word(),
                before.word()
            ),
            None => {}
        }
        files::make_folder(folder, 0o700)?;
        files::write(&folder.join(FILE), 0o600, self.word().as_bytes())
    }
}
