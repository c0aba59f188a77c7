//! What upstream's programs say in their logs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The API server's answer to a write on an older version.
pub const CONFLICT: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Lines of baremetal-operator at the level `error`, except for two that it logs without anything being wrong:
///
/// - `Ignored error while checking for Power Failure`, at most once for each host: it asks Ironic for the node of a host before it has
///   registered the host, which it does in the same reconcile for every host that Ironic does not know.
/// - `Reconciler error` of a write on an object that its cache has not yet in its newest version: it repeats the reconcile at once.
pub fn errors_of_operator(log: &str) -> Vec<String> {
    let mut unregistered = BTreeSet::new();
    let mut is_error = |line: &&str| {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            // A panic, or a library that prints by itself.
            return line.contains("panic") || line.starts_with('E');
        };
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let is_first_look = text("msg") == "Ignored error while checking for Power Failure"
            && text("error") == "host not registered"
            && unregistered.insert(text("host"));
        let is_repeated = text("msg") == "Reconciler error" && text("error").contains(CONFLICT);
        !["info", "debug"].contains(&text("level").as_str()) && !is_first_look && !is_repeated
    };
    log.lines().filter(|line| is_error(line)).map(str::to_owned).collect()
}

/// How often baremetal-operator reconciled each host.
pub fn reconciles(log: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for line in log.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
        let is_host = entry["logger"].as_str().is_some_and(|logger| logger.ends_with("BareMetalHost"));
        if let (true, "start", Some(name)) =
            (is_host, entry["msg"].as_str().unwrap_or_default(), entry["baremetalhost"]["name"].as_str())
        {
            *all.entry(name.to_owned()).or_default() += 1;
        }
    }
    all
}

/// The hosts about whose creation its webhook was asked.
pub fn admitted(log: &str) -> BTreeSet<String> {
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let created = entries.filter(|entry| entry["msg"] == "validate create");
    created.filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect()
}

/// Lines of Ironic about errors.
pub fn errors_of_ironic(log: &str) -> Vec<String> {
    let is_error =
        |line: &&str| [" ERROR ", " CRITICAL ", "Traceback"].iter().any(|word| line.contains(word));
    log.lines().filter(is_error).map(str::to_owned).collect()
}

/// The states that the nodes of Ironic entered, by their identifiers.
pub fn transitions(log: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in log.lines() {
        let Some((before, after)) = line.split_once(" moved to provision state \"") else { continue };
        let Some((_, node)) = before.rsplit_once("Node ") else { continue };
        let Some((state, _)) = after.split_once('"') else { continue };
        all.entry(node.to_owned()).or_default().push(state.to_owned());
    }
    all
}
