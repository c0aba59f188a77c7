//! `describe cluster`: shows a cluster and its parts as a tree with their conditions.
//!
//! [`Snapshot`] holds the objects, `tree` arranges them, `rows` writes the row of each object, and `table` writes the columns.

mod conditions;
mod counters;
mod gather;
mod group;
mod label;
mod legacy;
mod messages;
mod prefix;
mod rows;
mod snapshot;
mod table;
mod tree;

use chrono::{DateTime, Utc};
use kube::Client;

pub use snapshot::Snapshot;

use crate::{Error, Result};

/// What to show.
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

/// Reads a cluster from the server and writes its table.
///
/// # Errors
/// The cluster does not exist, or the server refuses.
pub async fn cluster(
    client: &Client,
    namespace: &str,
    name: &str,
    options: &Options,
    now: DateTime<Utc>,
) -> Result<String> {
    crate::inventory::check(client).await?;
    let snapshot = gather::gather(client, namespace, name, options).await?;
    text(&snapshot, namespace, name, options, now)
}

/// Writes the table of a cluster from objects.
///
/// # Errors
/// The cluster is not among the objects.
pub fn text(
    snapshot: &Snapshot,
    namespace: &str,
    name: &str,
    options: &Options,
    now: DateTime<Utc>,
) -> Result<String> {
    let tree = tree::build(snapshot, namespace, name, options)
        .ok_or_else(|| Error::invalid(format!("clusters.cluster.x-k8s.io {name:?} not found")))?;
    let paint = table::Paint(options.colour);
    Ok(if options.legacy {
        table::text(&table::LEGACY, legacy::rows(&tree, paint, now))
    } else {
        table::text(&table::COLUMNS, rows::rows(&tree, paint, now))
    })
}
