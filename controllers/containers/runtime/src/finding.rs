//! What hinders containers on a machine.

use serde::Serialize;

/// Something that hinders or may hinder containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How much it hinders.
    pub weight: Weight,
    /// What was found.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// How much a finding hinders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Only to know.
    Note,
    /// Containers start, and something in them may fail.
    Warning,
    /// No container starts.
    Obstacle,
}
