//! One OpenAPI v3 document for each version of each group.

use std::collections::BTreeMap;

use registry::Definitions;
use registry::definition::{Definition, Version};
use serde_json::{Map, Value, json};

use super::{paths, schemas};
use crate::server::Shared;

/// The documents, by `api/v1` or `apis/{group}/{version}`.
pub(super) fn all(shared: &Shared, definitions: &Definitions) -> BTreeMap<String, Value> {
    let mut served: BTreeMap<String, Vec<(&Definition, &Version)>> = BTreeMap::new();
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
    served.into_iter().map(|(path, served)| (path, document(shared, &served))).collect()
}

fn document(shared: &Shared, served: &[(&Definition, &Version)]) -> Value {
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
    let info = if built_in {
        json!({"title": shared.options.title, "version": shared.options.version.git_version})
    } else {
        json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"})
    };
    json!({
        "openapi": "3.0.0", "info": info, "paths": all_paths, "components": {"schemas": components},
    })
}
