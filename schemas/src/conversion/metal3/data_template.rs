//! Metal3DataTemplate.

use serde_json::{Value, json};

use super::super::fields::{Fields, at, items, rename, to_list, to_map};

/// Lists of the metadata, by their names in v1beta1 and v1beta2.
const FROM_POOL: [(&str, &str); 4] = [
    ("ipAddressesFromIPPool", "ipAddressesFromPool"),
    ("prefixesFromIPPool", "prefixesFromPool"),
    ("gatewaysFromIPPool", "gatewaysFromPool"),
    ("dnsServersFromIPPool", "dnsServersFromPool"),
];

const LINKS: [&str; 3] = ["spec", "networkData", "links"];
const NETWORKS: [&str; 3] = ["spec", "networkData", "networks"];
/// The name of a pool, which networks of IPv6 must have in v1beta1, if only empty.
const POOL_NAME: &str = "ipAddressFromIPPool";

pub fn up(template: &mut Value) {
    if let Some(spec) = at(template, &["spec"]) {
        spec.remove("templateReference");
    }
    if let Some(data) = at(template, &["spec", "metaData"]) {
        FROM_POOL.iter().for_each(|(older, newer)| rename(data, older, newer));
    }
    for bond in at(template, &LINKS).into_iter().flat_map(|links| items(links, "bonds")) {
        to_list(bond, "parameters", |value| Fields::from_iter([("value".into(), value)]));
    }
    if let Some(status) = at(template, &["status"]) {
        indexes_up(status);
    }
}

pub fn down(template: &mut Value) {
    if let Some(data) = at(template, &["spec", "metaData"]) {
        FROM_POOL.iter().for_each(|(older, newer)| rename(data, newer, older));
    }
    for bond in at(template, &LINKS).into_iter().flat_map(|links| items(links, "bonds")) {
        to_map(bond, "parameters", |mut parameter| parameter.remove("value").unwrap_or(json!({})));
    }
    for network in at(template, &NETWORKS).into_iter().flat_map(|networks| items(networks, "ipv6")) {
        network.entry(POOL_NAME).or_insert_with(|| json!(""));
    }
    if let Some(status) = at(template, &["status"]) {
        to_map(status, "indexes", |mut entry| entry.remove("index").unwrap_or(json!(0)));
    }
}

/// Makes the list of indexes, sorted by index.
fn indexes_up(status: &mut Fields) {
    to_list(status, "indexes", |index| Fields::from_iter([("index".into(), index)]));
    if let Some(list) = status.get_mut("indexes").and_then(Value::as_array_mut) {
        list.sort_by_key(|entry| entry["index"].as_i64());
    }
}
