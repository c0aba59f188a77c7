//! Defaults that depend on several fields, which a schema cannot express.

use serde_json::{Value, json};

use super::common::{Errors, annotation, at};
use crate::defaults::{
    API_SERVER_PORT, CLOUD_PROVIDER_ENABLED, EXTENSION_PORT, MAX_SURGE, MAX_UNAVAILABLE,
    NODE_DELETION_TIMEOUT_SECONDS, NODE_STARTUP_TIMEOUT_SECONDS, REMEDIATION_RETRY_LIMIT,
    REMEDIATION_STRATEGY, REMEDIATION_TIMEOUT_SECONDS, REPLICAS, RESOURCE_SET_STRATEGY, ROLLING_UPDATE,
    ROLLOUT_STRATEGY,
};
use crate::names::CLUSTER_NAME;
use crate::naming;

pub const AUTOSCALER_MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
pub const AUTOSCALER_MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
const DEPLOYMENT_NAME_LABEL: &str = "cluster.x-k8s.io/deployment-name";
const SET_NAME_LABEL: &str = "cluster.x-k8s.io/set-name";

pub fn cluster(object: &mut Value) {
    prefix_version(object, &["spec", "topology"]);
}

pub fn machine(object: &mut Value) {
    label_with_cluster(object);
    fill(object, &["spec", "deletion", "nodeDeletionTimeoutSeconds"], NODE_DELETION_TIMEOUT_SECONDS);
    prefix_version(object, &["spec"]);
}

pub fn machine_set(object: &mut Value, old: Option<&Value>, errors: &mut Errors) {
    label_with_cluster(object);
    replicas(object, old, errors);
    select_by_name(object, SET_NAME_LABEL);
    prefix_version(object, &["spec", "template", "spec"]);
}

pub fn machine_deployment(object: &mut Value, old: Option<&Value>, errors: &mut Errors) {
    label_with_cluster(object);
    replicas(object, old, errors);
    select_by_name(object, DEPLOYMENT_NAME_LABEL);
    if let Some(cluster) = at(object, &["spec", "clusterName"]).as_str().map(str::to_owned) {
        put(object, &["spec", "selector", "matchLabels", CLUSTER_NAME], cluster.as_str());
        put(object, &["spec", "template", "metadata", "labels", CLUSTER_NAME], cluster.as_str());
    }
    fill(object, &["spec", "rollout", "strategy", "type"], ROLLOUT_STRATEGY);
    if at(object, &["spec", "rollout", "strategy", "type"]) == ROLLING_UPDATE {
        let rolling_update = ["spec", "rollout", "strategy", "rollingUpdate"];
        fill(object, &[&rolling_update[..], &["maxSurge"]].concat(), MAX_SURGE);
        fill(object, &[&rolling_update[..], &["maxUnavailable"]].concat(), MAX_UNAVAILABLE);
    }
    prefix_version(object, &["spec", "template", "spec"]);
}

pub fn machine_pool(object: &mut Value, old: Option<&Value>, errors: &mut Errors) {
    label_with_cluster(object);
    replicas(object, old, errors);
    let timeout = ["spec", "template", "spec", "deletion", "nodeDeletionTimeoutSeconds"];
    fill(object, &timeout, NODE_DELETION_TIMEOUT_SECONDS);
    prefix_version(object, &["spec", "template", "spec"]);
}

pub fn machine_health_check(object: &mut Value) {
    label_with_cluster(object);
    fill(object, &["spec", "checks", "nodeStartupTimeoutSeconds"], NODE_STARTUP_TIMEOUT_SECONDS);
}

pub fn kubeadm_control_plane(object: &mut Value) {
    fill(object, &["spec", "replicas"], REPLICAS);
    put(object, &["spec", "rollout", "strategy", "type"], ROLLOUT_STRATEGY);
    fill(object, &["spec", "rollout", "strategy", "rollingUpdate", "maxSurge"], MAX_SURGE);
    prefix_version(object, &["spec"]);
}

pub fn cluster_resource_set(object: &mut Value) {
    let strategy = ["spec", "strategy"];
    if at(object, &strategy) == "" {
        put(object, &strategy, RESOURCE_SET_STRATEGY);
    }
    fill(object, &strategy, RESOURCE_SET_STRATEGY);
}

pub fn extension_config(object: &mut Value) {
    fill(object, &["spec", "namespaceSelector"], json!({}));
    if at(object, &["spec", "clientConfig", "service"]).is_object() {
        fill(object, &["spec", "clientConfig", "service", "port"], EXTENSION_PORT);
    }
}

/// A DevCluster without a backend is one of containers, whose failure domains are not for control planes unless they say so.
pub fn dev_cluster(object: &mut Value, spec: &[&str]) {
    let backend = |name| [spec, &["backend", name]].concat();
    if ["docker", "inMemory"].iter().all(|name| at(object, &backend(name)).is_null()) {
        put(object, &backend("docker"), json!({}));
    }
    let domains = object.pointer_mut(&format!("/{}/failureDomains", backend("docker").join("/")));
    let domains = domains.and_then(Value::as_array_mut).into_iter().flatten();
    for domain in domains.filter(|domain| domain.is_object() && domain["controlPlane"].is_null()) {
        domain["controlPlane"] = false.into();
    }
}

pub fn metal3_cluster(object: &mut Value) {
    let port = ["spec", "controlPlaneEndpoint", "port"];
    if at(object, &port) == 0 {
        put(object, &port, API_SERVER_PORT);
    }
    fill(object, &port, API_SERVER_PORT);
    fill(object, &["spec", "cloudProviderEnabled"], CLOUD_PROVIDER_ENABLED);
}

pub fn metal3_remediation_template(object: &mut Value) {
    let strategy = |field| ["spec", "template", "spec", "strategy", field];
    if at(object, &strategy("type")) == "" {
        put(object, &strategy("type"), REMEDIATION_STRATEGY);
    }
    fill(object, &strategy("type"), REMEDIATION_STRATEGY);
    fill(object, &strategy("timeoutSeconds"), REMEDIATION_TIMEOUT_SECONDS);
    let limit = strategy("retryLimit");
    if at(object, &limit).as_i64().is_some_and(|number| number < i64::from(REMEDIATION_RETRY_LIMIT)) {
        put(object, &limit, REMEDIATION_RETRY_LIMIT);
    }
    fill(object, &limit, REMEDIATION_RETRY_LIMIT);
}

/// Returns the place at `path` and creates missing objects on the way. `None` if a value on the way is not an
/// object.
fn place<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    let mut value = object;
    for name in path {
        if value.is_null() {
            *value = json!({});
        }
        value = value.as_object_mut()?.entry(*name).or_insert(Value::Null);
    }
    Some(value)
}

/// Sets a field. An object whose `spec` is not an object is left unchanged, since the schema refuses it.
fn put(object: &mut Value, path: &[&str], value: impl Into<Value>) {
    if let Some(found) = place(object, path) {
        *found = value.into();
    }
}

/// Sets a field if it is absent.
fn fill(object: &mut Value, path: &[&str], value: impl Into<Value>) {
    if at(object, path).is_null() {
        put(object, path, value);
    }
}

/// Adds the prefix `v` to the version in the object at `path` if it lacks it.
fn prefix_version(object: &mut Value, path: &[&str]) {
    let path = [path, &["version"]].concat();
    let text = at(object, &path).as_str().filter(|text| !text.is_empty() && !text.starts_with('v'));
    if let Some(prefixed) = text.map(|text| format!("v{text}")) {
        put(object, &path, prefixed);
    }
}

fn label_with_cluster(object: &mut Value) {
    if let Some(cluster) = at(object, &["spec", "clusterName"]).as_str().map(str::to_owned) {
        put(object, &["metadata", "labels", CLUSTER_NAME], cluster);
    }
}

/// Sets a label with the object's name in the selector and the template if the selector is empty.
fn select_by_name(object: &mut Value, label: &str) {
    let selector = at(object, &["spec", "selector"]);
    let empty = |field: &Value| {
        field.as_object().is_none_or(|map| map.is_empty())
            && field.as_array().is_none_or(|list| list.is_empty())
    };
    if !empty(&selector["matchLabels"]) || !empty(&selector["matchExpressions"]) {
        return;
    }
    let value = naming::label_value(at(object, &["metadata", "name"]).as_str().unwrap_or_default());
    put(object, &["spec", "selector", "matchLabels", label], value.as_str());
    put(object, &["spec", "template", "metadata", "labels", label], value.as_str());
}

/// Sets `spec.replicas` if it is absent: within the autoscaler's bounds if the object has its annotations,
/// else 1.
fn replicas(object: &mut Value, old: Option<&Value>, errors: &mut Errors) {
    if !at(object, &["spec", "replicas"]).is_null() {
        return;
    }
    let (minimum, maximum) = (bound(object, AUTOSCALER_MIN, errors), bound(object, AUTOSCALER_MAX, errors));
    let replicas = match (minimum, maximum) {
        (Some(minimum), Some(maximum)) => {
            let old = old.and_then(|old| at(old, &["spec", "replicas"]).as_i64());
            old.map_or(minimum, |old| if old < minimum { minimum } else { old.min(maximum) })
        }
        _ => i64::from(REPLICAS),
    };
    put(object, &["spec", "replicas"], replicas);
}

fn bound(object: &Value, key: &str, errors: &mut Errors) -> Option<i64> {
    let text = annotation(object, key)?;
    let number = text.parse::<i32>().ok();
    if number.is_none() {
        errors.invalid(format_args!("metadata.annotations[{key}]"), text, "must be a number");
    }
    number.map(i64::from)
}
