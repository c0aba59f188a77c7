//! Fields that cannot be owned.

use super::set::FieldSet;

/// Fields that a request cannot own, because the strategy of its path resets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset<'a> {
    /// Everything can be owned.
    Nothing,
    /// These paths (`["status"]`) cannot.
    Fields(&'a [&'a [&'a str]]),
    /// Only these paths can.
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
