//! The engines by name. Whoever opens a store names one here, so that a further engine joins in this file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Engine;
use super::embedded::Embedded;
use super::memory::Memory;
use crate::directory::DataDirectory;
use crate::error::EngineError;
use crate::limits::HistoryLimits;

/// An engine that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// A file of redb in the data directory.
    Embedded,
    /// A folder of sled in the data directory.
    #[cfg(feature = "sled")]
    Sled,
    /// Nothing outlives the process.
    Memory,
}

impl EngineKind {
    /// The engines whose content is in a data directory.
    pub const PERSISTENT: &[Self] = &[
        Self::Embedded,
        #[cfg(feature = "sled")]
        Self::Sled,
    ];

    /// Returns the engine that has written the content of a data directory; `None` for a directory without content.
    pub fn of(directory: &Path) -> Option<Self> {
        let has = |kind: &Self| kind.content(directory).is_some_and(|content| content.exists());
        Self::PERSISTENT.iter().copied().find(has)
    }

    /// Returns the file or folder with the content in a data directory; `None` for an engine without one.
    pub fn content(self, directory: &Path) -> Option<PathBuf> {
        match self {
            Self::Embedded => Some(directory.join(super::embedded::FILE)),
            #[cfg(feature = "sled")]
            Self::Sled => Some(directory.join(super::sled::DIRECTORY)),
            Self::Memory => None,
        }
    }

    /// Returns the limits of the history that fit the engine.
    pub fn limits(self) -> HistoryLimits {
        match self {
            Self::Memory => HistoryLimits::in_memory(),
            _ => HistoryLimits::default(),
        }
    }

    /// Opens the engine in a data directory, or creates its content. It may wait for the disk.
    ///
    /// # Errors
    /// The content is damaged or has a newer format, or the directory has the content of another engine.
    pub fn open(self, directory: &DataDirectory) -> Result<Arc<dyn Engine>, EngineError> {
        if let Some(found) = Self::of(directory.path()).filter(|found| *found != self && self != Self::Memory)
        {
            let content = found.content(directory.path()).unwrap_or_default().display().to_string();
            return Err(EngineError::OtherEngine { content, found: found.name(), chosen: self.name() });
        }
        Ok(match self {
            Self::Embedded => Arc::new(Embedded::open(directory)?),
            #[cfg(feature = "sled")]
            Self::Sled => Arc::new(super::sled::Sled::open(directory)?),
            Self::Memory => Arc::new(Memory::default()),
        })
    }

    /// Returns the name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            #[cfg(feature = "sled")]
            Self::Sled => "sled",
            Self::Memory => "memory",
        }
    }
}
