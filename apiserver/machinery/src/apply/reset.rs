//! Fields that a request cannot own.

use super::set::FieldSet;

/// Fields that a request cannot own, because the strategy of its path resets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset<'a> {
    /// All fields can be owned.
    Nothing,
    /// The fields at and below these paths, for example `["status"]`, cannot be owned.
    Fields(&'a [&'a [&'a str]]),
    /// Only the fields at and below these paths can be owned.
    AllBut(&'a [&'a [&'a str]]),
}

impl Reset<'_> {
    pub(super) fn filter(self, mut set: FieldSet) -> FieldSet {
        match self {
            Self::Nothing => {}
            Self::Fields(reset) => reset.iter().for_each(|path| set.remove_fields(path)),
            Self::AllBut(kept) => {
                let mut paths = FieldSet::default();
                kept.iter().for_each(|path| paths.insert_fields(path));
                set = set.only_under(&paths);
            }
        }
        set
    }
}
