//! The store's logical clock.

use std::fmt;
use std::str::FromStr;

/// A point in the store's history: global, strictly increasing, never reused. An empty store stands at 1, so its first change
/// is 2; 0 stands for "none". Its decimal text is an object's `metadata.resourceVersion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// No revision: that of an object that does not exist.
    pub const NONE: Self = Self(0);
    /// Where an empty store stands.
    pub const FIRST: Self = Self(1);

    /// The revision after this one.
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
