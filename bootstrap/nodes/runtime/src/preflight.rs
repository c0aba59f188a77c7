//! What hinders containers on a machine.

use std::path::Path;

use anyhow::Result;

use crate::network::Range;

/// Something that hinders or may hinder containers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Only to know.
    Note,
    /// Containers start, and something in them may fail.
    Warning,
    /// No container starts.
    Obstacle,
}

pub(crate) async fn examine(_data: &Path, _range: Option<Range>, _identity: &str) -> Result<Vec<Finding>> {
    Ok(Vec::new())
}
