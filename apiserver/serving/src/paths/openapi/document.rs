//! Builds one OpenAPI v3 document for each version of each group.

use std::collections::BTreeMap;

use kinds::definition::{Definition, Version};
use registry::Definitions;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use super::{paths, schemas};
use crate::options::VersionInfo;

/// The resources of a document, each with its version.
pub(crate) type Resources<'a> = Vec<(&'a Definition, &'a Version)>;

/// Returns the resources of each document, by `api/v1` or `apis/{group}/{version}`.
pub(crate) fn all(definitions: &Definitions) -> BTreeMap<String, Resources<'_>> {
    let mut served: BTreeMap<String, Resources<'_>> = BTreeMap::new();
    for definition in definitions.iter() {
        for version in definition.versions.iter().filter(|version| version.served) {
            let path = if definition.group.is_empty() {
                format!("api/{}", version.name)
            } else {
                format!("apis/{}/{}", definition.group, version.name)
            };
            served.entry(path).or_default().push((definition, version));
        }
    }
    served
}

/// Returns a hash of all inputs of [`document`]. It changes whenever the document does, and is much cheaper
/// to compute.
pub(crate) fn hash(version: &VersionInfo, served: &Resources<'_>) -> String {
    let mut digest = Sha512::new();
    let mut add = |text: &str| {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    add(env!("CARGO_PKG_VERSION"));
    add(&version.git_version);
    add(schemas::TITLE);
    for (definition, version) in served {
        let Definition { group, plural, singular, kind, list_kind, namespaced, verbs, built_in, .. } =
            definition;
        add(&format!("{group} {plural} {singular} {kind} {list_kind} {namespaced} {verbs:?} {built_in}"));
        let Version { name, deprecation_warning, status, scale, parts, .. } = version;
        add(&format!("{name} {deprecation_warning:?} {status} {scale:?} {parts:?}"));
        add(&version.schema_text);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Builds the document of these resources.
pub(crate) fn document(version: &VersionInfo, served: &Resources<'_>) -> Value {
    let mut components = schemas::meta();
    if served.iter().all(|(_, version)| version.scale.is_none()) {
        components.retain(|name, _| !name.starts_with("io.k8s.api.autoscaling."));
    }
    let mut all_paths = Map::new();
    for (definition, version) in served {
        let name = schemas::name(definition, &version.name, &definition.kind);
        let list_name = schemas::name(definition, &version.name, &definition.list_kind);
        components.insert(list_name, schemas::list(definition, version, &name));
        schemas::add_object(definition, version, &mut components);
        paths::add(definition, version, &mut all_paths);
    }
    let built_in = served.iter().any(|(definition, _)| definition.built_in);
    let shown = if built_in {
        json!({"title": schemas::TITLE, "version": version.minor()})
    } else {
        json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"})
    };
    json!({
        "openapi": "3.0.0", "info": shown, "paths": all_paths, "components": {"schemas": components},
    })
}
