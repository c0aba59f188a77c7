//! `describe cluster`: a cluster and what it is made of, as a tree with its conditions.
//!
//! [`Snapshot`] holds the objects, `tree` decides what is shown below what, `rows` what is said of it, `table` lays it out.

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

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whose conditions: `all`, kinds, `kind/name`, separated by commas; `+` behind one shows only what has something to say.
    pub show_conditions: String,
    /// MachineSets.
    pub machine_sets: bool,
    /// ClusterResourceSets.
    pub resource_sets: bool,
    /// Templates.
    pub templates: bool,
    /// Objects that say the same as their machine.
    pub echo: bool,
    /// Machines in the same state as one row.
    pub grouping: bool,
    /// The conditions of v1beta1.
    pub legacy: bool,
    /// ANSI colours.
    pub colour: bool,
}

/// Whether `--show-conditions` can be meant.
///
/// # Errors
/// White space in it.
pub fn check(show_conditions: &str) -> Result<()> {
    if show_conditions.split(',').any(|filter| filter.trim() != filter) {
        return Err(Error::invalid(format!(
            "invalid --show-conditions value {show_conditions:?}: whitespace is not allowed"
        )));
    }
    Ok(())
}

/// The table of a cluster, as it is now.
///
/// # Errors
/// A cluster that is not there, a server that refuses.
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

/// The table of a cluster out of objects.
///
/// # Errors
/// Where the cluster is not among them.
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
