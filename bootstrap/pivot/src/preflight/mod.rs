//! The checks before anything is written.

mod admission;
mod existing;
pub mod providers;
mod rights;

use std::collections::{BTreeMap, BTreeSet};

pub use admission::try_all;
pub use existing::existing;

use crate::error::Result;
use crate::finding::Finding;
use crate::inventory::{Discovery, Inventory};
use crate::kinds::Definition;
use crate::limits;
use crate::server::Server;

/// Result of the checks of both servers.
pub struct Looked {
    /// The problems that were found.
    pub findings: Vec<Finding>,
    /// The needed namespaces that the target has.
    pub namespaces: BTreeSet<String>,
}

/// Checks both servers; writes nothing. The findings are sorted, errors first.
///
/// # Errors
/// A server refuses a request or cannot be reached.
pub async fn look(
    source: &Server,
    target: &Server,
    discovery: &Discovery,
    there: &Discovery,
    inventory: &Inventory,
) -> Result<Looked> {
    let mut found = inventory.unsteady.clone();
    let known: BTreeSet<&str> = there.definitions.iter().map(Definition::provider).collect();
    found.extend(providers::providers(&discovery.needed(inventory), &there.providers, &known));
    let usable = definitions(discovery, there, inventory, &mut found);
    let (there_already, namespaces, at_source, at_target) = futures::try_join!(
        existing(target, discovery, inventory, |kind| usable.contains(&kind)),
        existing::namespaces(target, inventory),
        rights::missing(source, inventory, discovery, rights::SOURCE_VERBS),
        rights::missing(target, inventory, discovery, rights::TARGET_VERBS),
    )?;
    let (namespaces, going) = namespaces;
    found.extend(existing::differing(target, discovery, inventory, &there_already).await?);
    found.extend(
        existing::in_the_way(inventory, there_already)
            .into_iter()
            .chain(going)
            .chain(at_source)
            .chain(at_target),
    );
    if let (Some(one), Some(other)) = (source.skew(), target.skew()) {
        let apart = one.abs_diff(other);
        if apart > limits::CLOCK_SKEW.as_secs() {
            found.push(Finding::warning(
                "both servers",
                format!("their clocks differ by {apart} s"),
                "set them by NTP: certificates, tokens and the times in conditions depend on it",
            ));
        }
    }
    for (object, owner) in &inventory.lost_owners {
        found.push(Finding::warning(
            object,
            format!("its owner {owner} does not move"),
            "it arrives without this owner reference",
        ));
    }
    if inventory.plan.is_empty() {
        found.push(Finding::warning(
            "source",
            "there is nothing to move",
            "look at --namespace and at what `kubectl get clusters -A` shows",
        ));
    }
    found.sort();
    found.dedup();
    Ok(Looked { findings: found, namespaces })
}

/// Returns the kinds of the plan that the target can accept; adds findings for the others.
fn definitions(
    discovery: &Discovery,
    there: &Discovery,
    inventory: &Inventory,
    found: &mut Vec<Finding>,
) -> BTreeSet<usize> {
    let mut usable = BTreeSet::new();
    let kinds: BTreeSet<usize> = inventory.items.values().map(|item| item.kind).collect();
    for index in kinds {
        let kind = &discovery.kinds[index];
        let name = format!("CustomResourceDefinition {}", kind.resource());
        let definition = there.definitions.iter().find(|definition| definition.name() == kind.resource());
        match definition {
            _ if kind.group.is_empty() => drop(usable.insert(index)),
            None => found.push(Finding::error(
                name,
                "the target does not have it",
                format!("install the provider of {} at the target", kind.group),
            )),
            Some(definition) if !definition.serves(&kind.version) => found.push(Finding::error(
                name,
                format!("the target does not serve version {}, in which the source stores it", kind.version),
                "upgrade the provider at the target",
            )),
            Some(_) => drop(usable.insert(index)),
        }
    }
    for (server, definitions) in [("source", &discovery.definitions), ("target", &there.definitions)] {
        let clusters = definitions.iter().find(|definition| definition.name() == "clusters.cluster.x-k8s.io");
        let stored = clusters.and_then(|definition| definition.storage_version());
        if stored != Some("v1beta2") {
            found.push(Finding::error(
                format!("CustomResourceDefinition clusters.cluster.x-k8s.io at the {server}"),
                format!("its storage version is {}, not v1beta2", stored.unwrap_or("missing")),
                "bring Cluster API to v1.11 or newer there",
            ));
        }
    }
    usable
}

/// Returns the namespaces of the objects that move, by kind.
pub fn places(inventory: &Inventory) -> BTreeMap<usize, BTreeSet<&str>> {
    let mut places: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for (key, item) in &inventory.items {
        places.entry(item.kind).or_default().insert(&key.namespace);
    }
    places
}

/// Returns the lists that contain all objects that move: a kind in one namespace, or in all namespaces if there are many.
pub fn lists(inventory: &Inventory) -> Vec<(usize, &str)> {
    let mut lists = Vec::new();
    for (kind, namespaces) in places(inventory) {
        if namespaces.len() > limits::NAMESPACES_LISTED_ALONE {
            lists.push((kind, ""));
        } else {
            lists.extend(namespaces.into_iter().map(|namespace| (kind, namespace)));
        }
    }
    lists
}
