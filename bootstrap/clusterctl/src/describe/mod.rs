//! `describe cluster`: shows a cluster and its parts as a tree with their conditions.
//!
//! [`Snapshot`] holds the objects, `tree` arranges them, `rows` writes the row of each object, and `table` writes the columns.

mod conditions;
mod counters;
mod gather;
mod group;
mod label;
mod legacy;
pub mod messages;
mod options;
mod prefix;
mod rows;
mod snapshot;
mod table;
mod tree;

use chrono::{DateTime, Utc};
use kube::Client;

pub use options::{Options, check};
pub use snapshot::Snapshot;

use crate::{Error, Result};

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
