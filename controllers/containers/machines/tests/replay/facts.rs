//! The facts about an object that a recording tells. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::recording::Fact;

/// The facts about an object by their names.
pub type Facts = BTreeMap<String, Fact>;

const FINALIZERS: [&str; 2] =
    ["dockercluster.infrastructure.cluster.x-k8s.io", "dockermachine.infrastructure.cluster.x-k8s.io"];

/// Returns the facts about a DevCluster or a DevMachine.
pub fn facts(object: &Value) -> Facts {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let mut facts = Facts::new();
    let mut add = |name: &str, value: &str, message: &str| {
        let [name, value, message] = [name, value, message].map(str::to_owned);
        facts.insert(name.clone(), Fact { name, value, message });
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if list(&metadata["finalizers"]).iter().any(|finalizer| FINALIZERS.contains(&text(finalizer).as_str())) {
        add("finalizer", "set", "");
    }
    if let Some(id) = spec["providerID"].as_str() {
        add("providerID", id, "");
    }
    let host = text(&spec["controlPlaneEndpoint"]["host"]);
    if !host.is_empty() {
        add("host", if host.parse::<IpAddr>().is_ok() { "<address>" } else { &host }, "");
    }
    if status["initialization"]["provisioned"] == true {
        add("provisioned", "true", "");
    }
    for address in list(&status["addresses"]) {
        let type_ = text(&address["type"]);
        let value = if type_ == "Hostname" { text(&address["address"]) } else { "<address>".to_owned() };
        add(&format!("address {type_}"), &value, "");
    }
    if let Some(domain) = status["failureDomain"].as_str() {
        add("failureDomain", domain, "");
    }
    let domains: Vec<String> =
        list(&status["failureDomains"]).iter().map(|domain| text(&domain["name"])).collect();
    if !domains.is_empty() {
        add("failureDomains", &domains.join(","), "");
    }
    for condition in list(&status["conditions"]) {
        let value = format!("{}/{}", text(&condition["status"]), text(&condition["reason"]));
        let type_ = text(&condition["type"]);
        // The summary repeats the others.
        let message = if type_ == "Ready" { String::new() } else { text(&condition["message"]) };
        add(&type_, &value, &message);
    }
    facts
}

/// Returns the facts that have changed, and those that are gone.
pub fn changes(before: &Facts, after: &Facts) -> Vec<Fact> {
    let changed = after.values().filter(|fact| before.get(&fact.name) != Some(fact)).cloned();
    let gone = before.values().filter(|fact| !after.contains_key(&fact.name));
    let gone = gone.map(|fact| Fact {
        name: format!("{} removed", fact.name),
        value: String::new(),
        message: String::new(),
    });
    changed.chain(gone).collect()
}
