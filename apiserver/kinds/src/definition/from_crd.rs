//! Builds the [`Definition`] that serves the resource of a CustomResourceDefinition.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::conversion::Conversion;
use super::resource::{Column, Definition, Scale, Structure, Version};
use super::written::WrittenSchema;

/// The verbs of every custom resource, in the order of discovery.
pub(crate) const VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Reads a CustomResourceDefinition, which must be valid and contain its defaults.
///
/// # Errors
/// Describes the missing or malformed field, with its path.
pub fn from_crd(crd: &Value) -> Result<Definition, String> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let kind = text(&names["kind"]);
    let plural = text(&names["plural"]);
    if kind.is_empty() || plural.is_empty() {
        return Err("spec.names: kind and plural are required".into());
    }
    let or = |value: String, otherwise: String| if value.is_empty() { otherwise } else { value };
    let group = text(&spec["group"]);
    let mut versions = Vec::new();
    let mut storage_version = String::new();
    for source in spec["versions"].as_array().into_iter().flatten() {
        let version = version(&group, &kind, source, better(spec, source).as_deref()).map_err(|error| {
            format!("spec.versions[{}]: {error}", source["name"].as_str().unwrap_or_default())
        })?;
        if source["storage"] == true {
            storage_version = version.name.clone();
        }
        versions.push(Arc::new(version));
    }
    versions.sort_by(|a, b| priority(&b.name).cmp(&priority(&a.name)).then_with(|| a.name.cmp(&b.name)));
    Ok(Definition {
        group,
        singular: or(text(&names["singular"]), kind.to_lowercase()),
        list_kind: or(text(&names["listKind"]), format!("{kind}List")),
        plural,
        kind,
        short_names: list(&names["shortNames"]),
        categories: list(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        versions,
        storage_version,
        verbs: verbs(&spec["verbs"]),
        built_in: false,
        conversion: Conversion::parse(&spec["conversion"]).map(Arc::new),
        converter: None,
        labels: texts(&crd["metadata"]["labels"]),
        annotations: texts(&crd["metadata"]["annotations"]),
    })
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Returns the verbs that a built-in kind lists, or all verbs if there is no list.
fn verbs(named: &Value) -> Vec<&'static str> {
    let Some(named) = named.as_array() else { return VERBS.to_vec() };
    VERBS.into_iter().filter(|verb| named.iter().any(|one| one == verb)).collect()
}

/// Returns the sort priority of a version name: GA before beta before alpha, then higher numbers first, then all other
/// names.
fn priority(name: &str) -> (u8, u64, u64) {
    let Some(rest) = name.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(major) = rest[..digits].parse::<u64>() else { return (0, 0, 0) };
    let minor = |tail: &str| tail.parse::<u64>().ok();
    let tail = &rest[digits..];
    if tail.is_empty() {
        (3, major, 0)
    } else if let Some(minor) = tail.strip_prefix("beta").and_then(minor) {
        (2, major, minor)
    } else if let Some(minor) = tail.strip_prefix("alpha").and_then(minor) {
        (1, major, minor)
    } else {
        (0, 0, 0)
    }
}

/// Returns the best version that clients should use instead of `source`: it is served, not deprecated, and has a higher
/// priority.
fn better(spec: &Value, source: &Value) -> Option<String> {
    let own = priority(source["name"].as_str()?);
    let versions = spec["versions"].as_array()?.iter();
    let best = versions
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .filter(|name| priority(name) > own)
        .max_by_key(|name| priority(name));
    best.map(str::to_owned)
}

fn version(group: &str, kind: &str, source: &Value, better: Option<&str>) -> Result<Version, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&source["name"]);
    let schema = source["schema"].get("openAPIV3Schema");
    let schema_text: Arc<str> = schema.map(Value::to_string).unwrap_or_default().into();
    let schema = match schema {
        Some(schema) if source["storage"] == true => {
            WrittenSchema::now(schema).map_err(|error| error.to_string())?
        }
        Some(_) => WrittenSchema::later(schema_text.clone()),
        None => WrittenSchema::default(),
    };
    let mut columns: Vec<Column> = source["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| Column {
            name: text(&column["name"]),
            kind: text(&column["type"]),
            format: text(&column["format"]),
            description: text(&column["description"]),
            priority: column["priority"].as_i64().unwrap_or(0),
            json_path: text(&column["jsonPath"]),
        })
        .collect();
    columns.retain(|column| !column.json_path.is_empty());
    let scale = source["subresources"].get("scale").filter(|scale| scale.is_object()).map(|scale| Scale {
        spec_replicas_path: text(&scale["specReplicasPath"]),
        status_replicas_path: text(&scale["statusReplicasPath"]),
        label_selector_path: scale["labelSelectorPath"].as_str().map(str::to_owned),
    });
    let deprecation_warning = (source["deprecated"] == true).then(|| {
        let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
        let standard = || format!("{group}/{name} {kind} is deprecated{instead}");
        source["deprecationWarning"].as_str().map_or_else(standard, str::to_owned)
    });
    Ok(Version {
        served: source["served"] == true,
        deprecation_warning,
        schema: Structure::Written(Arc::new(schema)),
        schema_text,
        columns,
        status: source["subresources"].get("status").is_some_and(Value::is_object),
        scale,
        parts: &[],
        selectable_fields: source["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| text(&field["jsonPath"]))
            .collect(),
        name,
    })
}
