//! The options of `describe`, which select the objects and conditions to show.

use crate::{Error, Result};

/// The objects and conditions that `describe` shows.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Objects whose conditions are shown: `all`, kinds, `kind/name`, separated by commas. With `+` after an entry, only conditions
    /// that need attention are shown.
    pub show_conditions: String,
    /// Whether to show MachineSets.
    pub machine_sets: bool,
    /// Whether to show ClusterResourceSets.
    pub resource_sets: bool,
    /// Whether to show templates.
    pub templates: bool,
    /// Whether to show objects that are ready or in the same state as their machine.
    pub echo: bool,
    /// Whether to show machines in the same state in one row.
    pub grouping: bool,
    /// Whether to show the conditions of v1beta1.
    pub legacy: bool,
    /// Whether to use ANSI colours.
    pub colour: bool,
}

/// Checks the value of `--show-conditions`.
///
/// # Errors
/// It contains white space.
pub fn check(show_conditions: &str) -> Result<()> {
    if show_conditions.split(',').any(|filter| filter.trim() != filter) {
        return Err(Error::invalid(format!(
            "invalid --show-conditions value {show_conditions:?}: whitespace is not allowed"
        )));
    }
    Ok(())
}
