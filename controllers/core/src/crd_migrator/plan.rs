//! The rules of the CRD migrator.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, Time};
use kube::core::{ApiResource, ObjectMeta};
use machinery::clock::rfc3339;
use serde_json::json;

/// Annotation on a definition: the generation for which the migration is complete.
pub const OBSERVED_GENERATION: &str = "crd-migration.cluster.x-k8s.io/observed-generation";

/// The migration of the objects of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The kind, in its storage version.
    pub resource: ApiResource,
    /// The generation of the definition.
    pub generation: i64,
    /// Whether objects may be stored in another version.
    pub rewrites: bool,
    /// Whether the kind has the subresource `status`. A write of it reaches no admission webhook, which could refuse an old object.
    pub has_status: bool,
    /// Group and version of each version that is served.
    pub served: BTreeSet<String>,
}

/// Returns whether a definition must be looked at: its spec has changed since it was created, and since the last migration. Objects
/// of a definition that has never changed have never had another version.
pub fn is_due(definition: &ObjectMeta) -> bool {
    let generation = definition.generation.unwrap_or_default();
    let observed =
        definition.annotations.as_ref().and_then(|annotations| annotations.get(OBSERVED_GENERATION));
    generation > 1 && observed != Some(&generation.to_string())
}

/// Returns the migration that a definition needs.
///
/// # Errors
/// The definition has no storage version that is served, so that its objects cannot be read.
pub fn task(definition: &CustomResourceDefinition) -> Result<Task, String> {
    let spec = &definition.spec;
    let named = |version: &CustomResourceDefinitionVersion| format!("{}/{}", spec.group, version.name);
    let storage =
        spec.versions.iter().find(|version| version.storage && version.served).ok_or_else(|| {
            "its objects cannot be migrated: no version of it is both served and the storage version"
                .to_owned()
        })?;
    let stored = definition.status.as_ref().and_then(|status| status.stored_versions.as_deref());
    Ok(Task {
        resource: ApiResource {
            group: spec.group.clone(),
            version: storage.name.clone(),
            api_version: named(storage),
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        },
        generation: definition.metadata.generation.unwrap_or_default(),
        rewrites: stored != Some(std::slice::from_ref(&storage.name)),
        has_status: storage.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some()),
        served: spec.versions.iter().filter(|version| version.served).map(named).collect(),
    })
}

/// Returns the `managedFields` of an object without the entries of versions that are not served, which server-side apply could not
/// read; `None` if there are none. At least one entry remains: for an object without any, the next apply would guess who owns its fields.
pub fn cleaned(object: &ObjectMeta, task: &Task, now: DateTime<Utc>) -> Option<Vec<ManagedFieldsEntry>> {
    let all = object.managed_fields.as_deref().unwrap_or_default();
    let is_served = |entry: &&ManagedFieldsEntry| {
        entry.api_version.as_ref().is_some_and(|version| task.served.contains(version))
    };
    let mut kept: Vec<ManagedFieldsEntry> = all.iter().filter(is_served).cloned().collect();
    if kept.len() == all.len() {
        return None;
    }
    if let Some(first) = all.first().filter(|_| kept.is_empty()) {
        kept.push(ManagedFieldsEntry {
            manager: first.manager.clone(),
            operation: first.operation.clone(),
            api_version: Some(task.resource.api_version.clone()),
            time: serde_json::from_value::<Time>(json!(rfc3339(now))).ok(),
            fields_type: Some("FieldsV1".to_owned()),
            fields_v1: Some(FieldsV1(json!({"f:metadata": {"f:name": {}}}))),
            subresource: None,
        });
    }
    Some(kept)
}
