//! `APIResourceList`: the resources of one version of a group.

use http::Method;
use kinds::definition::{Definition, Version};
use registry::Definitions;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::resources::connect::ConnectResource;

/// Builds the list for one group and version.
pub(crate) fn list(
    definitions: &Definitions,
    group: &str,
    version: &str,
    connects: &[ConnectResource],
) -> Value {
    let mut resources = Vec::new();
    for (definition, served) in served(definitions, group, version) {
        resources.push(resource(definition));
        let mut parts: Vec<Value> = Vec::new();
        if served.status {
            parts.push(part(definition, "status", part_verbs()));
        }
        if served.scale.is_some() {
            parts.push(json!({
                "name": format!("{}/scale", definition.plural), "singularName": "",
                "namespaced": definition.namespaced, "group": "autoscaling", "version": "v1",
                "kind": "Scale", "verbs": part_verbs(),
            }));
        }
        parts.extend(served.parts.iter().map(|one| part(definition, one.name(), part_verbs())));
        if is_namespaces(definition) {
            parts.push(part(definition, "finalize", json!(["update"])));
        }
        parts.extend(connected(definition, version, connects).map(|one| connect(definition, one)));
        if definition.built_in {
            parts.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        }
        resources.extend(parts);
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    // kube-apiserver leaves `apiVersion` out of the core group's list only.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

/// Returns the definitions that serve this version.
pub(crate) fn served<'a>(
    definitions: &'a Definitions,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Definition, &'a Version)> {
    definitions.iter().filter(move |definition| definition.group == group).filter_map(move |definition| {
        let version = definition.version(version).filter(|version| version.served)?;
        // Kinds without verbs are request bodies of subresources.
        (!definition.verbs.is_empty()).then_some(())?;
        Some((&**definition, &**version))
    })
}

/// Returns the subresources implemented in Rust.
pub(crate) fn connected<'a>(
    definition: &'a Definition,
    version: &'a str,
    connects: &'a [ConnectResource],
) -> impl Iterator<Item = &'a ConnectResource> {
    connects.iter().filter(move |one| {
        one.group == definition.group && one.version == version && one.resource == definition.plural
    })
}

pub(crate) fn is_namespaces(definition: &Definition) -> bool {
    definition.group.is_empty() && definition.plural == "namespaces"
}

fn resource(definition: &Definition) -> Value {
    let mut value = json!({
        "name": definition.plural, "singularName": definition.singular, "namespaced": definition.namespaced,
        "kind": definition.kind, "verbs": verbs(definition),
    });
    if definition.is_stored() {
        let hash = storage_hash(&definition.group, &definition.storage_version, &definition.kind);
        value["storageVersionHash"] = hash.into();
    }
    if !definition.short_names.is_empty() {
        value["shortNames"] = definition.short_names.clone().into();
    }
    if !definition.categories.is_empty() {
        value["categories"] = definition.categories.clone().into();
    }
    value
}

/// Returns the verbs: sorted for built-in kinds, in kube-apiserver's fixed order for custom ones.
pub(crate) fn verbs(definition: &Definition) -> Vec<&'static str> {
    let mut verbs = definition.verbs.clone();
    if definition.built_in {
        verbs.sort_unstable();
    }
    verbs
}

fn part(definition: &Definition, name: &str, verbs: Value) -> Value {
    json!({
        "name": format!("{}/{name}", definition.plural), "singularName": "",
        "namespaced": definition.namespaced, "kind": definition.kind, "verbs": verbs,
    })
}

fn connect(definition: &Definition, one: &ConnectResource) -> Value {
    let mut value = part(definition, one.subresource, connect_verbs(one).into());
    value["kind"] = one.kind.into();
    if let Some((group, version)) = one.kind_group_version {
        value["group"] = group.into();
        value["version"] = version.into();
    }
    value
}

/// Returns the verbs for the allowed methods, sorted.
pub(crate) fn connect_verbs(one: &ConnectResource) -> Vec<&'static str> {
    let mut verbs: Vec<&'static str> = one
        .methods
        .iter()
        .map(|method| match *method {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "get",
        })
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs
}

/// Returns the `storageVersionHash`, by which clients see whether two versions are stored alike.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    use base64::Engine as _;
    // The storage versions that kube-apiserver uses for these kinds.
    let (group, version) = match (group, kind) {
        ("events.k8s.io", "Event") => ("", "v1"),
        ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("admissionregistration.k8s.io", "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding") => {
            (group, "v1beta1")
        }
        _ => (group, version),
    };
    let hash = Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(hash.get(..8).unwrap_or_default())
}

/// Returns the verbs of subresources that read and write a part of an object.
pub(crate) fn part_verbs() -> Value {
    json!(["get", "patch", "update"])
}
