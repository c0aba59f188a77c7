//! The facts about an object that a recording tells. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::recording::Fact;

/// The facts about an object by their names.
pub type Facts = BTreeMap<String, Fact>;

const FINALIZERS: [&str; 3] = [
    "dockercluster.infrastructure.cluster.x-k8s.io",
    "dockermachine.infrastructure.cluster.x-k8s.io",
    "dockermachinepool.infrastructure.cluster.x-k8s.io",
];

/// The MachinePool of a machine.
const POOL: &str = "cluster.x-k8s.io/pool-name";

/// Returns whether an object is that of a machine of a pool.
pub fn is_of_pool(object: &Value) -> bool {
    object["metadata"]["labels"].get(POOL).is_some()
}

/// Returns the facts about a DevCluster, a DevMachine or a DevMachinePool, and those about a Machine of a pool: the provider deletes it.
pub fn facts(kind: &str, object: &Value) -> Facts {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let mut facts = Facts::new();
    if kind == "Machine" {
        if is_of_pool(object) && !metadata["deletionTimestamp"].is_null() {
            add(&mut facts, "deletion", "begun", "");
        }
        return facts;
    }
    if list(&metadata["finalizers"]).iter().any(|finalizer| FINALIZERS.contains(&text(finalizer).as_str())) {
        add(&mut facts, "finalizer", "set", "");
    }
    if let Some(id) = spec["providerID"].as_str() {
        add(&mut facts, "providerID", id, "");
    }
    let host = text(&spec["controlPlaneEndpoint"]["host"]);
    if !host.is_empty() {
        add(&mut facts, "host", if host.parse::<IpAddr>().is_ok() { "<address>" } else { &host }, "");
    }
    if status["initialization"]["provisioned"] == true {
        add(&mut facts, "provisioned", "true", "");
    }
    for address in list(&status["addresses"]) {
        let type_ = text(&address["type"]);
        let value = if type_ == "Hostname" { text(&address["address"]) } else { "<address>".to_owned() };
        add(&mut facts, &format!("address {type_}"), &value, "");
    }
    if let Some(domain) = status["failureDomain"].as_str() {
        add(&mut facts, "failureDomain", domain, "");
    }
    let domains = list(&status["failureDomains"]);
    add_all(&mut facts, "failureDomains", domains.iter().map(|domain| text(&domain["name"])).collect());
    for condition in list(&status["conditions"]) {
        let value = format!("{}/{}", text(&condition["status"]), text(&condition["reason"]));
        let type_ = text(&condition["type"]);
        // The summary repeats the others.
        let message = if type_ == "Ready" { String::new() } else { text(&condition["message"]) };
        add(&mut facts, &type_, &value, &message);
    }
    if kind == "DevMachine" && is_of_pool(object) {
        add(&mut facts, "pool", &text(&metadata["labels"][POOL]), "");
        if let Some(image) = spec["backend"]["docker"]["customImage"].as_str() {
            add(&mut facts, "image", image, "");
        }
    }
    if kind == "DevMachinePool" {
        of_pool(&mut facts, spec, status);
    }
    facts
}

fn of_pool(facts: &mut Facts, spec: &Value, status: &Value) {
    let mut ids: Vec<String> = list(&spec["providerIDList"]).iter().map(text).collect();
    // Our names have another order.
    ids.sort();
    add_all(facts, "providerIDs", ids);
    let mut instances: Vec<String> =
        list(&status["instances"]).iter().map(|instance| text(&instance["instanceName"])).collect();
    instances.sort();
    add_all(facts, "instances", instances);
    if let Some(kind) = status["infrastructureMachineKind"].as_str() {
        add(facts, "infrastructureMachineKind", kind, "");
    }
    for field in ["replicas", "ready"] {
        if !status[field].is_null() {
            add(facts, field, &status[field].to_string(), "");
        }
    }
}

fn add(facts: &mut Facts, name: &str, value: &str, message: &str) {
    let [name, value, message] = [name, value, message].map(str::to_owned);
    facts.insert(name.clone(), Fact { name, value, message });
}

fn add_all(facts: &mut Facts, name: &str, values: Vec<String>) {
    if !values.is_empty() {
        add(facts, name, &values.join(","), "");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
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
