//! kubeadm's configuration in the workload cluster, which `kubeadm join` reads. Pure functions.

use k8s_openapi::api::core::v1::ConfigMap;
use schemas::bootstrap::{ClusterConfiguration, Dns};
use serde_json::{Map, Value, json};

use crate::documents::{self, ApiVersion, ClusterDocument};
use crate::error::{Error, Result};
use schemas::version::Version;

/// The key of the configuration in its ConfigMap.
pub const KEY: &str = "ClusterConfiguration";

/// Returns the text of the configuration.
///
/// # Errors
/// [`Error::Workload`] if the ConfigMap has none.
pub fn text(map: &ConfigMap) -> Result<&str> {
    let text = map.data.as_ref().and_then(|data| data.get(KEY));
    text.map(String::as_str).ok_or_else(|| {
        Error::Workload(format!(
            "ConfigMap kubeadm-config has no key {KEY}: kubeadm can't join nodes without it"
        ))
    })
}

fn parsed(text: &str) -> Result<Map<String, Value>> {
    let parsed = if text.trim().is_empty() { Ok(json!({})) } else { serde_saphyr::from_str::<Value>(text) };
    match parsed {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        _ => Err(Error::Yaml(format!("ConfigMap kubeadm-config: {KEY} can't be read"))),
    }
}

/// Returns kubeadm's configuration with the image of CoreDNS that the spec asks for; `None` if nothing
/// changes. The field `disabled` is kept.
///
/// # Errors
/// [`Error::Yaml`] if the text is not a configuration.
pub fn with_dns(text: &str, dns: &Dns) -> Result<Option<Value>> {
    let current = parsed(text)?;
    let mut updated = current.clone();
    let mut entry = current.get("dns").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in [("imageRepository", &dns.image_repository), ("imageTag", &dns.image_tag)] {
        match value.as_deref().filter(|text| !text.is_empty()) {
            Some(value) => drop(entry.insert(key.to_owned(), value.into())),
            None => drop(entry.remove(key)),
        }
    }
    match entry.is_empty() {
        true => drop(updated.remove("dns")),
        false => drop(updated.insert("dns".to_owned(), Value::Object(entry))),
    }
    Ok((updated != current).then_some(Value::Object(updated)))
}

/// Returns kubeadm's configuration updated by the spec for `version`; `None` if nothing changes. An empty
/// text counts as an empty configuration.
///
/// # Errors
/// [`Error::Yaml`] if the text is not a configuration.
pub fn updated_configuration(
    text: &str,
    config: &ClusterConfiguration,
    version: &Version,
) -> Result<Option<Value>> {
    let current = parsed(text)?;
    let api = ApiVersion::of(version)?;
    let document = ClusterDocument { kubernetes_version: version.to_string(), ..ClusterDocument::default() };
    let rendered = documents::cluster_configuration(config, &document, api);
    let mut updated = current.clone();
    for key in ["apiVersion", "kind", "kubernetesVersion"] {
        updated.insert(key.to_owned(), rendered[key].clone());
    }
    for key in ["apiServer", "controllerManager", "scheduler", "featureGates"] {
        match rendered.get(key) {
            Some(value) => drop(updated.insert(key.to_owned(), value.clone())),
            None => drop(updated.remove(key)),
        }
    }
    for key in ["imageRepository", "certificateValidityPeriod", "encryptionAlgorithm"] {
        if let Some(value) = rendered.get(key) {
            updated.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(etcd)) = rendered.get("etcd") {
        let present = updated.entry("etcd").or_insert_with(|| json!({}));
        for (key, value) in etcd {
            merge(&mut present[key.as_str()], value);
        }
    }
    let mut updated = Value::Object(updated);
    convert_arguments(&mut updated, api);
    Ok((updated != Value::Object(current)).then_some(updated))
}

/// Sets the entries of `wanted` and keeps all others, for example the data directory that kubeadm writes.
fn merge(present: &mut Value, wanted: &Value) {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            for (key, value) in wanted {
                present.insert(key.clone(), value.clone());
            }
        }
        (present, wanted) => *present = wanted.clone(),
    }
}

/// Converts each `extraArgs` to the form of the version: a map in v1beta3, a list in v1beta4.
fn convert_arguments(value: &mut Value, api: ApiVersion) {
    let Value::Object(map) = value else { return };
    for (key, value) in map.iter_mut() {
        match (key.as_str(), &*value, api) {
            ("extraArgs", Value::Object(arguments), ApiVersion::V1Beta4) => {
                *value =
                    arguments.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            }
            ("extraArgs", Value::Array(arguments), ApiVersion::V1Beta3) => {
                let entry = |argument: &Value| {
                    Some((argument["name"].as_str()?.to_owned(), argument["value"].clone()))
                };
                *value = Value::Object(arguments.iter().filter_map(entry).collect());
            }
            _ => convert_arguments(value, api),
        }
    }
}
