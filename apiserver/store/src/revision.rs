//! The logical clock of the store.

use std::fmt;
use std::str::FromStr;

/// A point in the store's history: global, strictly increasing, and never reused. An empty store is at 1, so its first
/// change has revision 2, and 0 stands for no revision. Its decimal text is the `metadata.resourceVersion` of an
/// object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// No revision, as for an object that does not exist.
    pub const NONE: Self = Self(0);
    /// The revision of an empty store.
    pub const FIRST: Self = Self(1);

    /// Returns the next revision.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Revision {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
