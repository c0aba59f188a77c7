//! Aggregated discovery: `APIGroupDiscoveryList`, one document with all resources.

use kinds::definition::{Definition, Version};
use registry::Definitions;
use serde_json::{Value, json};

use super::groups::Group;
use super::resources::{connect_verbs, connected, is_namespaces, part_verbs, served, verbs};
use crate::resources::connect::ConnectResource;

/// Builds the list of these groups.
pub(crate) fn list<'a>(
    definitions: &Definitions,
    groups: impl Iterator<Item = &'a Group>,
    connects: &[ConnectResource],
) -> Value {
    let items: Vec<Value> = groups
        .map(|group| {
            let versions = group.versions.iter().map(|version| {
                let resources: Vec<Value> = served(definitions, &group.name, version)
                    .map(|(definition, served)| resource(definition, served, connects))
                    .collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            });
            let versions: Vec<Value> = versions.collect();
            let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn resource(definition: &Definition, version: &Version, connects: &[ConnectResource]) -> Value {
    // The response kind of a built-in resource has the group and version that the resource is listed under.
    let own = match definition.built_in {
        true => json!({"group": "", "version": "", "kind": definition.kind}),
        false => json!({"group": definition.group, "version": version.name, "kind": definition.kind}),
    };
    let mut parts = Vec::new();
    if version.status {
        parts.push(json!({"subresource": "status", "responseKind": own, "verbs": part_verbs()}));
    }
    if version.scale.is_some() {
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        parts.push(json!({"subresource": "scale", "responseKind": kind, "verbs": part_verbs()}));
    }
    parts.extend(
        version
            .parts
            .iter()
            .map(|one| json!({"subresource": one.name(), "responseKind": own, "verbs": part_verbs()})),
    );
    if is_namespaces(definition) {
        parts.push(json!({"subresource": "finalize", "responseKind": own, "verbs": ["update"]}));
    }
    parts.extend(connected(definition, &version.name, connects).map(|one| {
        let (group, version) =
            one.kind_group_version.unwrap_or((definition.group.as_str(), version.name.as_str()));
        let kind = json!({"group": group, "version": version, "kind": one.kind});
        json!({"subresource": one.subresource, "responseKind": kind, "verbs": connect_verbs(one)})
    }));
    if definition.built_in {
        parts.sort_by(|a, b| a["subresource"].as_str().cmp(&b["subresource"].as_str()));
    }
    let mut value = json!({
        "resource": definition.plural, "responseKind": own, "singularResource": definition.singular,
        "scope": if definition.namespaced { "Namespaced" } else { "Cluster" }, "verbs": verbs(definition),
    });
    if !definition.short_names.is_empty() {
        value["shortNames"] = definition.short_names.clone().into();
    }
    if !definition.categories.is_empty() {
        value["categories"] = definition.categories.clone().into();
    }
    if !parts.is_empty() {
        value["subresources"] = parts.into();
    }
    value
}
