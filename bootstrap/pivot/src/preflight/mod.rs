//! What is found before anything is touched.

mod admission;
mod rights;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;
use serde_json::Value;

pub use admission::try_all;

use crate::error::Result;
use crate::inventory::{Discovery, Inventory, Provider};
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::server::Server;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// Nothing is moved until it is put right.
    Error,
    /// Worth knowing.
    Warning,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which object, on which server.
    pub object: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl Finding {
    /// A finding that must be put right.
    pub fn error(object: impl fmt::Display, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            object: object.to_string(),
            what: what.into(),
            advice: advice.into(),
        }
    }

    /// A finding that is worth knowing.
    pub fn warning(object: impl fmt::Display, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(object, what, advice) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}; {}", self.object, self.what, self.advice)
    }
}

/// A line a finding.
pub fn in_words(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    format!("nothing was moved:\n{}", lines.join("\n"))
}

/// Why an object is not ready to move: its deletion has begun, or it is a Cluster or a Machine that is not at rest (contract of
/// `clusterctl move`).
pub fn unsteady(key: &Key, object: &Value) -> Vec<Finding> {
    const WAIT: &str = "wait until it is, or delete it, then try again";
    let mut found = Vec::new();
    let mut add = |what: &str, advice: &str| found.push(Finding::error(key, what, advice));
    let is_machine = key.is(names::CLUSTER_GROUP, "Machine");
    // Nothing arrives as being deleted: whatever is would come back to life.
    if object["metadata"]["deletionTimestamp"].is_string() {
        add("it is being deleted", "wait until it is gone, then try again");
        return found;
    }
    if !key.is_cluster() && !is_machine {
        return found;
    }
    let status = &object["status"];
    if is_machine {
        let node = status["nodeRef"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            add("it has no node yet", WAIT);
        }
        return found;
    }
    let initialization = &status["initialization"];
    if initialization["infrastructureProvisioned"] != true {
        add("its infrastructure is not provisioned yet", WAIT);
    }
    let initialized =
        |condition: &Value| condition["type"] == "ControlPlaneInitialized" && condition["status"] == "True";
    if !status["conditions"].as_array().is_some_and(|all| all.iter().any(initialized)) {
        add("its control plane is not initialized yet (condition ControlPlaneInitialized)", WAIT);
    } else if object["spec"]["controlPlaneRef"]["name"].is_string()
        && initialization["controlPlaneInitialized"] != true
    {
        add("its control plane is not initialized yet (status.initialization)", WAIT);
    }
    found
}

/// Looks at both servers; writes nothing. The findings are sorted, errors first.
///
/// # Errors
/// Where a server refuses to be looked at.
pub async fn look(
    source: &Server,
    target: &Server,
    discovery: &Discovery,
    there: &Discovery,
    inventory: &Inventory,
) -> Result<Vec<Finding>> {
    let mut found = inventory.unsteady.clone();
    found.extend(providers(&discovery.providers, &there.providers));
    let usable = definitions(discovery, there, inventory, &mut found);
    let (existing, namespaces, at_source, at_target) = futures::try_join!(
        existing(target, discovery, inventory, &usable),
        namespaces(target, inventory),
        rights::missing(source, inventory, discovery, rights::SOURCE_VERBS),
        rights::missing(target, inventory, discovery, rights::TARGET_VERBS),
    )?;
    found.extend(existing.into_iter().chain(namespaces).chain(at_source).chain(at_target));
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
    Ok(found)
}

/// Every provider of the source must be at the target, as new or newer.
fn providers(source: &[Provider], target: &[Provider]) -> Vec<Finding> {
    let mut found = Vec::new();
    for provider in source {
        let there = target.iter().find(|other| other.name == provider.name && other.kind == provider.kind);
        let object = format!("{} {}", provider.kind, provider.name);
        let Some(there) = there else {
            let advice =
                format!("install {} or newer at the target with `clusterctl init`", provider.version);
            found.push(Finding::error(object, "the target does not have it", advice));
            continue;
        };
        if version(&there.version) < version(&provider.version) {
            let what =
                format!("the target has {}, older than {} at the source", there.version, provider.version);
            found.push(Finding::error(
                object,
                what,
                "upgrade it at the target with `clusterctl upgrade apply`",
            ));
        }
    }
    found
}

/// Numbers of a semantic version, then whether it is a release, then the parts of its prerelease.
fn version(text: &str) -> (Vec<u64>, bool, Vec<(u64, String)>) {
    let text = text.trim_start_matches('v').split('+').next().unwrap_or_default();
    let (numbers, prerelease) = text.split_once('-').unwrap_or((text, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    let parts = prerelease.split('.').map(|part| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    });
    (numbers, prerelease.is_empty(), parts.collect())
}

/// Which kinds of the plan the target can take; notes those that it cannot.
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

/// The kinds and namespaces of what moves.
pub fn places(inventory: &Inventory) -> BTreeMap<usize, BTreeSet<&str>> {
    let mut places: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for (key, item) in &inventory.items {
        places.entry(item.kind).or_default().insert(&key.namespace);
    }
    places
}

/// The lists that hold all that moves: a kind in a namespace, or in all of them where these are many.
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

/// Objects that the target has already; those of cluster-scoped hierarchies may be.
async fn existing(
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

/// Namespaces that the target is about to lose.
async fn namespaces(target: &Server, inventory: &Inventory) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for name in inventory.plan.namespaces() {
        let what = format!("get Namespace {name}");
        let namespace = target.find(&what, &format!("/api/v1/namespaces/{name}")).await?;
        if namespace.is_some_and(|namespace| namespace["metadata"]["deletionTimestamp"].is_string()) {
            found.push(Finding::error(
                format!("Namespace {name} at the target"),
                "it is being deleted",
                "wait until it is gone, then try again",
            ));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_compared_as_versions() {
        let order = ["v1.9.0", "v1.10.0-alpha.1", "v1.10.0-alpha.10", "v1.10.0-rc.0", "v1.10.0", "v1.10.1+x"];
        for pair in order.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn providers_must_be_there_and_not_older() {
        let provider = |name: &str, version: &str| Provider {
            namespace: "n".into(),
            name: name.into(),
            kind: "CoreProvider".into(),
            version: version.into(),
        };
        let source = [provider("a", "v1.2.0"), provider("b", "v1.2.0"), provider("c", "v1.2.0")];
        let target = [provider("a", "v1.10.0"), provider("b", "v1.1.9")];
        let found: Vec<String> = providers(&source, &target).into_iter().map(|found| found.object).collect();
        assert_eq!(found, ["CoreProvider b", "CoreProvider c"]);
    }

    #[test]
    fn what_is_not_at_rest() {
        let key = |kind: &str| Key {
            group: names::CLUSTER_GROUP.into(),
            kind: kind.into(),
            namespace: "n".into(),
            name: "x".into(),
        };
        let ready = json!({
            "spec": {"controlPlaneRef": {"name": "cp"}},
            "status": {
                "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
                "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}],
            },
        });
        assert!(unsteady(&key("Cluster"), &ready).is_empty());
        assert_eq!(unsteady(&key("Cluster"), &json!({})).len(), 2);
        let mut without = ready.clone();
        without["status"]["initialization"]["controlPlaneInitialized"] = Value::Null;
        assert_eq!(unsteady(&key("Cluster"), &without).len(), 1);
        assert_eq!(unsteady(&key("Machine"), &json!({})).len(), 1);
        assert!(unsteady(&key("Machine"), &json!({"status": {"nodeRef": {"name": "n"}}})).is_empty());
        assert!(unsteady(&key("MachineSet"), &json!({})).is_empty());
        for kind in ["Machine", "MachineSet"] {
            assert_eq!(unsteady(&key(kind), &json!({"metadata": {"deletionTimestamp": "t"}})).len(), 1);
        }
    }
}
