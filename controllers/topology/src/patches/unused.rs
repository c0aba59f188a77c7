//! Parts of inline patches that are for no template of a Cluster.

use std::fmt;

use schemas::cluster::{ClusterClassPatch, PatchSelector};

use super::budget::Budget;
use super::engine::{PatchError, failed};
use super::items::Item;
use super::selector;

/// A part of an inline patch that is for no template of a Cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Unused {
    /// The name of the patch.
    pub patch: String,
    /// The place of the part in `definitions`.
    pub place: usize,
    /// What it selects.
    pub selector: PatchSelector,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (patch, place) = (&self.patch, self.place);
        let PatchSelector { api_version, kind, match_resources } = &self.selector;
        let resources = serde_json::to_string(match_resources).map_err(|_| fmt::Error)?;
        write!(
            f,
            "definitions[{place}] of patch {patch:?} changes nothing: its selector ({kind} of {api_version}, {resources}) matches no template of the Cluster"
        )
    }
}

/// Returns the parts of patches whose selectors match no item.
///
/// # Errors
/// The selectors make too many steps.
pub fn of(patches: &[ClusterClassPatch], items: &[Item]) -> Result<Vec<Unused>, PatchError> {
    let mut budget = Budget::new(0);
    let mut unused = Vec::new();
    for patch in patches {
        for (place, definition) in patch.definitions.iter().enumerate() {
            let mut is_used = false;
            for item in items {
                is_used |= selector::matches(&definition.selector, item, &mut budget)
                    .map_err(|message| failed(patch, &item.item.object, message))?;
            }
            if !is_used {
                let selector = definition.selector.clone();
                unused.push(Unused { patch: patch.name.clone(), place, selector });
            }
        }
    }
    Ok(unused)
}
