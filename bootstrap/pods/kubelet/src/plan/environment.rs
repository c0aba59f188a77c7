//! The environment variables of a container.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVarSource, Pod};

use super::expand::expand;
use super::{Facts, quantity};
use crate::host::ADDRESS;

/// The search path of an image that has none.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Part of a memory limit that Go's garbage collector may use: the rest is for what it does not count.
const GO_MEMORY_PERCENT: i128 = 90;

/// Returns all variables of a container, those of the Pod after those of the image that they replace.
///
/// # Errors
/// A ConfigMap, a Secret or a key that is not optional does not exist, or a field reference is not known.
pub fn environment(pod: &Pod, container: &Container, facts: &Facts<'_>) -> Result<Vec<(String, String)>> {
    let mut found = Variables::default();
    found.set("PATH", SEARCH_PATH.to_owned());
    found.set("HOSTNAME", pod.metadata.name.clone().unwrap_or_default());
    found.set("HOME", facts.user.home.clone().unwrap_or_else(|| "/".to_owned()));
    for variable in &facts.image.environment {
        let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
        found.set(name, value.to_owned());
    }
    for (name, value) in facts.variables {
        found.set(name, value.clone());
    }
    if let Some(bytes) = memory_limit(container) {
        found.set("GOMEMLIMIT", (bytes * GO_MEMORY_PERCENT / 100).to_string());
    }
    for source in container.env_from.iter().flatten() {
        for (name, value) in all_of(source, facts)? {
            found.set(&name, value);
        }
    }
    for variable in container.env.iter().flatten() {
        let value = match (&variable.value, &variable.value_from) {
            (None, Some(source)) => match value_from(source, pod, container, facts)
                .with_context(|| format!("the variable {} has no value", variable.name))?
            {
                Some(value) => value,
                None => continue,
            },
            (value, _) => expand(value.as_deref().unwrap_or_default(), &found.values),
        };
        found.set(&variable.name, value);
    }
    Ok(found.in_order())
}

/// Variables in the order in which they were first set.
#[derive(Default)]
struct Variables {
    order: Vec<String>,
    values: BTreeMap<String, String>,
}

impl Variables {
    fn set(&mut self, name: &str, value: String) {
        if self.values.insert(name.to_owned(), value).is_none() {
            self.order.push(name.to_owned());
        }
    }

    fn in_order(mut self) -> Vec<(String, String)> {
        let value = |name: String| self.values.remove(&name).map(|value| (name, value));
        self.order.into_iter().filter_map(value).collect()
    }
}

fn memory_limit(container: &Container) -> Option<i128> {
    let limits = container.resources.as_ref()?.limits.as_ref()?;
    quantity::bytes(&limits.get("memory")?.0)
}

/// Returns all values of a ConfigMap or Secret. Names that are no names of variables are left out, as Kubernetes does.
fn all_of(source: &EnvFromSource, facts: &Facts<'_>) -> Result<Vec<(String, String)>> {
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let data: BTreeMap<String, String> = if let Some(reference) = &source.config_map_ref {
        match facts.config_maps.get(&reference.name) {
            Some(found) => found.data.clone().unwrap_or_default(),
            None if reference.optional == Some(true) => BTreeMap::new(),
            None => bail!("configmap {:?} not found", reference.name),
        }
    } else if let Some(reference) = &source.secret_ref {
        match facts.secrets.get(&reference.name) {
            Some(found) => {
                let data = found.data.clone().unwrap_or_default();
                data.into_iter().map(|(key, value)| (key, text(&value.0))).collect()
            }
            None if reference.optional == Some(true) => BTreeMap::new(),
            None => bail!("secret {:?} not found", reference.name),
        }
    } else {
        BTreeMap::new()
    };
    let named = data.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value));
    Ok(named.filter(|(name, _)| !name.contains(['=', '\0']) && !name.is_empty()).collect())
}

/// Returns a value from elsewhere; `None` if it is optional and does not exist.
fn value_from(
    source: &EnvVarSource,
    pod: &Pod,
    container: &Container,
    facts: &Facts<'_>,
) -> Result<Option<String>> {
    if let Some(field) = &source.field_ref {
        return field_value(&field.field_path, pod, facts).map(Some);
    }
    if let Some(field) = &source.resource_field_ref {
        return quantity::resource(
            container,
            &field.resource,
            field.divisor.as_ref().map(|divisor| divisor.0.as_str()),
        )
        .map(Some);
    }
    if let Some(reference) = &source.config_map_key_ref {
        let found = facts.config_maps.get(&reference.name);
        let value = found.and_then(|found| found.data.as_ref()?.get(&reference.key).cloned());
        return present(
            value,
            reference.optional,
            ("configmap", &reference.name, &reference.key),
            found.is_some(),
        );
    }
    if let Some(reference) = &source.secret_key_ref {
        let found = facts.secrets.get(&reference.name);
        let value =
            found.and_then(|found| found.data.as_ref()?.get(&reference.key).map(|value| text(&value.0)));
        return present(
            value,
            reference.optional,
            ("secret", &reference.name, &reference.key),
            found.is_some(),
        );
    }
    bail!("this source of a variable is not supported")
}

fn present(
    value: Option<String>,
    optional: Option<bool>,
    (kind, name, key): (&str, &str, &str),
    exists: bool,
) -> Result<Option<String>> {
    match value {
        Some(value) => Ok(Some(value)),
        None if optional == Some(true) => Ok(None),
        None if exists => bail!("couldn't find key {key} in {kind} {name:?}"),
        None => bail!("{kind} {name:?} not found"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the value of a field of a Pod, as in `metadata.namespace` or `metadata.labels['app']`.
///
/// # Errors
/// The field is not one of those that Kubernetes offers.
pub fn field_value(path: &str, pod: &Pod, facts: &Facts<'_>) -> Result<String> {
    pod_field(path, pod, facts.pod_ip)
}

/// Returns the value of a field of a Pod that has the given address.
///
/// # Errors
/// The field is not one of those that Kubernetes offers.
pub fn pod_field(path: &str, pod: &Pod, pod_ip: &str) -> Result<String> {
    let (metadata, spec) = (&pod.metadata, pod.spec.as_ref());
    let keyed = |map: &Option<BTreeMap<String, String>>, path: &str| {
        let key = path.strip_prefix("['").and_then(|rest| rest.strip_suffix("']"))?;
        Some(map.as_ref().and_then(|map| map.get(key).cloned()).unwrap_or_default())
    };
    let listed = |map: &Option<BTreeMap<String, String>>| {
        let lines = map.iter().flatten().map(|(key, value)| format!("{key}={value:?}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let value = match path {
        "metadata.name" => metadata.name.clone(),
        "metadata.namespace" => metadata.namespace.clone(),
        "metadata.uid" => metadata.uid.clone(),
        "metadata.labels" => Some(listed(&metadata.labels)),
        "metadata.annotations" => Some(listed(&metadata.annotations)),
        "spec.nodeName" => Some(spec.and_then(|spec| spec.node_name.clone()).unwrap_or_default()),
        "spec.serviceAccountName" => Some(
            spec.and_then(|spec| spec.service_account_name.clone()).unwrap_or_else(|| "default".to_owned()),
        ),
        "status.podIP" | "status.podIPs" => Some(pod_ip.to_owned()),
        "status.hostIP" | "status.hostIPs" => Some(ADDRESS.to_owned()),
        _ => match (path.strip_prefix("metadata.labels"), path.strip_prefix("metadata.annotations")) {
            (Some(key), _) => keyed(&metadata.labels, key),
            (_, Some(key)) => keyed(&metadata.annotations, key),
            _ => None,
        },
    };
    value.with_context(|| format!("the field {path:?} of a Pod is not supported"))
}
