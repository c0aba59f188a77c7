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

/// What of the inventory the target has already, of the kinds that are `usable` there, with its identities.
///
/// # Errors
/// Where the target refuses.
pub async fn existing(
    target: &Server,
    discovery: &Discovery,
    inventory: &Inventory,
    usable: impl Fn(usize) -> bool,
) -> Result<Vec<(Key, String)>> {
    let lists: Vec<_> = lists(inventory)
        .into_iter()
        .filter(|(index, _)| usable(*index))
        .map(|(index, namespace)| list(target, &discovery.kinds[index], namespace))
        .collect();
    let there: Vec<Vec<(Key, String)>> =
        stream::iter(lists).buffered(limits::IN_FLIGHT).try_collect().await?;
    Ok(there.into_iter().flatten().filter(|(key, _)| inventory.items.contains_key(key)).collect())
}

/// Objects of the target that must not be there; those of cluster-scoped hierarchies may be.
pub(super) fn in_the_way(inventory: &Inventory, existing: Vec<(Key, String)>) -> Vec<Finding> {
    let shared: BTreeSet<&Key> =
        inventory.plan.steps().filter(|step| step.shared).map(|step| &step.object).collect();
    let found = existing.into_iter().filter(|(key, _)| !shared.contains(key)).map(|(key, _)| {
        Finding::error(
            format!("{key} at the target"),
            "an object of this name is there already",
            "delete or rename it, or move another --namespace",
        )
    });
    found.collect()
}

async fn list(target: &Server, kind: &Kind, namespace: &str) -> Result<Vec<(Key, String)>> {
    let what = format!("list {}", kind.resource());
    let items = target.list_metadata(&what, &kind.path(namespace)).await?;
    let field = |item: &Value, name: &str| item["metadata"][name].as_str().unwrap_or_default().to_owned();
    let key = |item: &Value| Key {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: field(item, "namespace"),
        name: field(item, "name"),
    };
    Ok(items.iter().map(|item| (key(item), field(item, "uid"))).collect())
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
