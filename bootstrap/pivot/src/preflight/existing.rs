//! Finds the objects and namespaces that the target already has.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use super::lists;
use crate::comparison::Comparison;
use crate::desired::{Identities, desired};
use crate::error::Result;
use crate::finding::Finding;
use crate::graph::ELSEWHERE;
use crate::inventory::{Discovery, Inventory, Item};
use crate::kinds::Kind;
use crate::limits;
use crate::object::Key;
use crate::plan::Step;
use crate::server::Server;

/// Returns the objects of the inventory that the target already has, of the kinds that are `usable` there, with their UIDs.
///
/// # Errors
/// The target refuses a request or cannot be reached.
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

/// Returns a finding for each object that must not exist at the target; objects that belong to cluster-scoped ones may exist.
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

/// Returns a finding for each object that the target keeps although it differs from the source's. If Clusters that move use a ClusterClass
/// of another namespace, the target's must be the same as the source's.
pub(super) async fn differing(
    target: &Server,
    discovery: &Discovery,
    inventory: &Inventory,
    existing: &[(Key, String)],
) -> Result<Vec<Finding>> {
    let there: BTreeSet<&Key> = existing.iter().map(|(key, _)| key).collect();
    let shared = inventory.plan.steps().filter(|step| step.shared && there.contains(&step.object));
    let comparisons: Vec<_> =
        shared.map(|step| compare(target, discovery, &inventory.items[&step.object], step)).collect();
    let found: Vec<Option<Finding>> =
        stream::iter(comparisons).buffered(limits::IN_FLIGHT).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn compare(
    target: &Server,
    discovery: &Discovery,
    item: &Item,
    step: &Step,
) -> Result<Option<Finding>> {
    let key = &step.object;
    let path = key.path(&discovery.kinds[item.kind]);
    let Some(there) = target.find(&format!("get {key}"), &path).await? else { return Ok(None) };
    let wanted = desired(item, None, &Identities::default());
    let found = Comparison::but_for_owners(&wanted.object, &there).difference;
    Ok(found.map(|difference| {
        let (object, what) =
            (format!("{key} at the target"), format!("it is another than at the source: {difference}"));
        if step.kept.as_deref() == Some(ELSEWHERE) {
            Finding::error(object, what, "make both the same: what moves follows the target's from then on")
        } else {
            Finding::warning(object, what, "the target keeps its own; make sure that what moves can use it")
        }
    }))
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

/// Returns the needed namespaces that the target has, and findings for those that are being deleted.
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
