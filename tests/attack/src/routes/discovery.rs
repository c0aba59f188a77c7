//! Reads the served resources from discovery.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use super::model::Means;
use crate::caller::Caller;

/// A resource in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    pub is_namespaced: bool,
    pub verbs: BTreeSet<String>,
    pub subresources: BTreeSet<String>,
}

impl Resource {
    /// Returns `/api/v1` or `/apis/GROUP/VERSION`.
    pub fn root(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }

    /// Returns the `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        self.root().trim_start_matches("/apis/").trim_start_matches("/api/").to_owned()
    }

    /// Returns the path of the collection in a namespace; of a cluster-scoped resource, the path of its only
    /// collection.
    pub fn collection(&self, namespace: &str) -> String {
        match (self.is_namespaced, namespace) {
            (true, namespace) if !namespace.is_empty() => {
                format!("{}/namespaces/{namespace}/{}", self.root(), self.plural)
            }
            _ => format!("{}/{}", self.root(), self.plural),
        }
    }
}

/// Returns all resources of the server.
pub async fn resources(admin: &mut Caller) -> Result<Vec<Resource>> {
    let mut roots = vec!["/api/v1".to_owned()];
    let groups = admin.get("/apis").await?;
    for version in items(&groups["groups"]).flat_map(|group| items(&group["versions"])) {
        roots.push(format!("/apis/{}", text(&version["groupVersion"])));
    }
    let mut all = Vec::new();
    for root in roots {
        let listed = admin.get(&root).await?;
        let mut found: BTreeMap<String, Resource> = BTreeMap::new();
        let group_version = text(&listed["groupVersion"]);
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        for resource in items(&listed["resources"]) {
            let name = text(&resource["name"]);
            let (plural, subresource) = name.split_once('/').unwrap_or((name, ""));
            let entry = found.entry(plural.to_owned()).or_insert_with(|| Resource {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                kind: String::new(),
                is_namespaced: resource["namespaced"] == true,
                verbs: BTreeSet::new(),
                subresources: BTreeSet::new(),
            });
            if subresource.is_empty() {
                text(&resource["kind"]).clone_into(&mut entry.kind);
                entry.verbs = items(&resource["verbs"]).map(|verb| text(verb).to_owned()).collect();
            } else {
                entry.subresources.insert(subresource.to_owned());
            }
        }
        all.extend(found.into_values());
    }
    Ok(all)
}

/// Returns whether the request's path exists: the resource in this scope, and the subresource. Whether it
/// supports the method is not checked.
pub fn is_route(resources: &[Resource], means: &Means) -> bool {
    let found = resources.iter().find(|resource| {
        (&resource.group, &resource.version, &resource.plural)
            == (&means.group, &means.version, &means.resource)
    });
    found.is_some_and(|resource| {
        let is_in_scope = if resource.is_namespaced {
            means.is_below_namespace || means.segments == 1
        } else {
            !means.is_below_namespace
        };
        let has_part = means.subresource.is_empty()
            || means.subresource == "proxy"
            || (means.segments == 3 && resource.subresources.contains(&means.subresource));
        is_in_scope && has_part && (means.segments < 2 || !means.name.is_empty())
    })
}

/// Returns all stored objects by path, with resource version and content, to detect changes.
pub async fn snapshot(admin: &mut Caller, resources: &[Resource]) -> Result<BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    for resource in resources.iter().filter(|resource| resource.verbs.contains("list")) {
        let list = admin.get(&resource.collection("")).await?;
        for item in items(&list["items"]) {
            let metadata = &item["metadata"];
            let place = format!(
                "{}/{} {}/{}",
                resource.root(),
                resource.plural,
                text(&metadata["namespace"]),
                text(&metadata["name"])
            );
            all.insert(place, item.clone());
        }
    }
    Ok(all)
}

/// Returns the differences between two snapshots, a line each.
pub fn differences(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Vec<String> {
    let gone =
        before.keys().filter(|place| !after.contains_key(*place)).map(|place| format!("gone: {place}"));
    let new = after.keys().filter(|place| !before.contains_key(*place)).map(|place| format!("new: {place}"));
    let changed = before
        .iter()
        .filter(|(place, object)| after.get(*place).is_some_and(|now| now != *object))
        .map(|(place, _)| format!("changed: {place}"));
    gone.chain(new).chain(changed).collect()
}

/// Returns the items of a list; empty if the value is not a list.
pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a string; empty if the value is not a string.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
