//! Metal3Cluster and Metal3ClusterTemplate.

use serde_json::Value;

use super::super::fields::{Fields, at, drop_template_metadata, template_spec, to_list, to_map};
use super::status;

pub fn up(cluster: &mut Value) {
    if let Some(spec) = at(cluster, &["spec"]) {
        spec_up(spec);
    }
    if let Some(fields) = at(cluster, &["status"]) {
        status::up(fields);
        domains_up(fields);
    }
}

pub fn down(cluster: &mut Value) {
    if let Some(spec) = at(cluster, &["spec"]) {
        spec_down(spec);
    }
    if let Some(fields) = at(cluster, &["status"]) {
        status::down(fields);
        domains_down(fields);
    }
}

pub fn template_up(template: &mut Value) {
    if let Some(spec) = template_spec(template) {
        spec_up(spec);
    }
}

pub fn template_down(template: &mut Value) {
    drop_template_metadata(template);
    if let Some(spec) = template_spec(template) {
        spec_down(spec);
    }
}

/// As upstream (cluster-api-provider-metal3 v1.13), `noCloudProvider` has no effect: only `cloudProviderEnabled` counts.
fn spec_up(spec: &mut Fields) {
    spec.remove("noCloudProvider");
    domains_up(spec);
}

fn spec_down(spec: &mut Fields) {
    if let Some(enabled) = spec.get("cloudProviderEnabled").and_then(Value::as_bool) {
        spec.insert("noCloudProvider".into(), (!enabled).into());
    }
    domains_down(spec);
}

fn domains_up(fields: &mut Fields) {
    to_list(fields, "failureDomains", |domain| match domain {
        Value::Object(domain) => domain,
        _ => Fields::new(),
    });
}

fn domains_down(fields: &mut Fields) {
    to_map(fields, "failureDomains", Value::Object);
}
