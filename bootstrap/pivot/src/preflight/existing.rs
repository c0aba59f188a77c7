//! What the target has already.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use super::{Finding, lists};
use crate::error::Result;
use crate::inventory::{Discovery, Inventory};
use crate::kinds::Kind;
use crate::limits;
use crate::object::Key;
use crate::server::Server;

/// Objects that the target has already; those of cluster-scoped hierarchies may be.
pub(super) async fn existing(
    target: &Server,
    discovery: &Discovery,
    inventory: &Inventory,
    usable: &BTreeSet<usize>,
) -> Result<Vec<Finding>> {
    let shared: BTreeSet<&Key> =
        inventory.plan.steps().filter(|step| step.shared).map(|step| &step.object).collect();
    let lists: Vec<_> = lists(inventory)
        .into_iter()
        .filter(|(index, _)| usable.contains(index))
        .map(|(index, namespace)| names_in(target, &discovery.kinds[index], namespace))
        .collect();
    let there: Vec<Vec<Key>> = stream::iter(lists).buffered(limits::IN_FLIGHT).try_collect().await?;
    let there = there.into_iter().flatten();
    Ok(there
        .filter(|key| inventory.items.contains_key(key) && !shared.contains(key))
        .map(|key| {
            Finding::error(
                format!("{key} at the target"),
                "an object of this name is there already",
                "delete or rename it, or move another --namespace",
            )
        })
        .collect())
}

async fn names_in(target: &Server, kind: &Kind, namespace: &str) -> Result<Vec<Key>> {
    let what = format!("list {}", kind.resource());
    let items = target.list_metadata(&what, &kind.path(namespace)).await?;
    let key = |item: &Value| Key {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: item["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
        name: item["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
    };
    Ok(items.iter().map(key).collect())
}

/// Namespaces that the target has, and those that it is about to lose.
pub(super) async fn namespaces(
    target: &Server,
    inventory: &Inventory,
) -> Result<(BTreeSet<String>, Vec<Finding>)> {
    let (mut there, mut found) = (BTreeSet::new(), Vec::new());
    for name in inventory.plan.namespaces() {
        let what = format!("get Namespace {name}");
        let Some(namespace) = target.find(&what, &format!("/api/v1/namespaces/{name}")).await? else {
            continue;
        };
        there.insert(name.to_owned());
        if namespace["metadata"]["deletionTimestamp"].is_string() {
            found.push(Finding::error(
                format!("Namespace {name} at the target"),
                "it is being deleted",
                "wait until it is gone, then try again",
            ));
        }
    }
    Ok((there, found))
}
