//! A machine whose bootstrap waits for a signal in a ConfigMap of the management cluster, as the scripts of tests do that decide when a
//! machine becomes a Node. It acknowledges the signal, so that whoever gave it knows that it counts for nobody else.

use std::sync::Arc;

use engine::controller::requests_of;
use engine::object::annotation;
use engine::{Change, NamespacedName, Objects, Request, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use schemas::infrastructure::DevMachine;
use serde_json::json;

use crate::names::WAITS_FOR;

/// The key of the ConfigMap, and its values.
const SIGNAL: &str = "signal";
const PASS: &str = "pass";
const ACKNOWLEDGED: &str = "ack-pass";

/// The signal that a machine waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signal {
    /// The ConfigMap.
    pub config_map: NamespacedName,
    /// Whether the signal is there.
    pub is_given: bool,
}

fn value(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get(SIGNAL).map(String::as_str)
}

fn config_map(dev: &DevMachine) -> Option<NamespacedName> {
    let namespace = dev.metadata.namespace.clone().unwrap_or_default();
    annotation(dev, WAITS_FOR).map(|name| NamespacedName::new(namespace, name))
}

/// Returns the signal that a machine waits for; `None` if it waits for none.
pub(super) fn read(maps: &Objects<ConfigMap>, dev: &DevMachine) -> Option<Signal> {
    let config_map = config_map(dev)?;
    let is_given = maps.get(&config_map).is_some_and(|map| value(&map) == Some(PASS));
    Some(Signal { config_map, is_given })
}

/// Returns the machines that wait for the signal of a ConfigMap that changed.
pub(super) fn of_config_map(change: &Change<ConfigMap>, machines: &Objects<DevMachine>) -> Vec<Request> {
    if change.new.as_ref().is_none_or(|map| value(map) != Some(PASS)) {
        return Vec::new();
    }
    let name = change.name();
    let all = machines.in_namespace(&name.namespace).into_iter();
    let waiting: Vec<Arc<DevMachine>> = all.filter(|dev| config_map(dev).as_ref() == Some(&name)).collect();
    requests_of(&waiting)
}

/// Says that the signal has arrived.
///
/// # Errors
/// Returns the refusal of the API.
pub(super) async fn acknowledge(maps: &Objects<ConfigMap>, signal: &Signal) -> Result<()> {
    maps.merge(&signal.config_map, None, json!({"data": {SIGNAL: ACKNOWLEDGED}})).await.map(drop)
}
