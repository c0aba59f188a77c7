//! Invariants that are checked at every change of every object, for every interruption of the controllers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;
use store::{Event, EventKind, Page, Prefix, Store, Watcher};

/// Annotation of a control plane Machine whose etcd member has not been removed yet.
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";

/// Follows all changes and records violations.
#[derive(Default)]
pub struct Invariants {
    objects: BTreeMap<String, Value>,
    violations: Vec<String>,
    changes: u64,
    /// Machines that the user deleted.
    deleted: BTreeSet<String>,
}

impl Invariants {
    /// Records that an object was written (`Some`) or removed (`None`).
    pub fn observe(&mut self, key: &str, object: Option<Value>) {
        self.changes += 1;
        match object {
            None => {
                self.objects.remove(key);
            }
            Some(object) => {
                let is_new = self.objects.insert(key.to_owned(), object.clone()).is_none();
                if is_new && object["kind"] == "Machine" {
                    self.no_more_machines_than_surge_allows(&object);
                }
                if object["kind"] == "Machine" && object["metadata"]["deletionTimestamp"].is_string() {
                    self.quorum_is_kept(&object);
                }
            }
        }
    }

    /// Observes the content of the store in a new life of the process. Deletions at the very end of the last life were not observed.
    /// Returns the watch that goes on from there.
    ///
    /// # Errors
    /// The store fails.
    pub fn begin_life(&mut self, store: &Store) -> Result<Watcher> {
        let snapshot = store.list(&Prefix::all(), &Page::default());
        let there: BTreeSet<&str> = snapshot.items.iter().map(|stored| stored.key.as_str()).collect();
        self.objects.retain(|key, _| there.contains(key.as_str()));
        for stored in &snapshot.items {
            self.observe(stored.key.as_str(), serde_json::from_slice(&stored.value).ok());
        }
        Ok(store.watch(&Prefix::all(), snapshot.revision)?)
    }

    /// Records the change of an event.
    pub fn observe_event(&mut self, event: &Event) {
        let is_deleted = event.kind == EventKind::Deleted;
        let object = if is_deleted { None } else { serde_json::from_slice(&event.object.value).ok() };
        self.observe(event.key().as_str(), object);
    }

    /// Records that the user deletes the object with this key.
    pub fn deletes(&mut self, key: &str) {
        self.deleted.insert(key.to_owned());
    }

    /// The objects that the user has deleted.
    pub fn deleted(&self) -> &BTreeSet<String> {
        &self.deleted
    }

    /// The object with this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.objects.get(key)
    }

    /// The violations so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Number of observed changes.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// All current objects.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.objects.iter().map(|(key, object)| (key.as_str(), object))
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.values().filter(move |object| object["kind"] == kind)
    }

    /// Machines of the same deployment or control plane that are not being deleted.
    fn siblings(&self, machine: &Value) -> Vec<&Value> {
        let labels = |machine: &Value| {
            let labels = &machine["metadata"]["labels"];
            (
                labels["cluster.x-k8s.io/cluster-name"].clone(),
                labels["cluster.x-k8s.io/deployment-name"].clone(),
            )
        };
        let same = |other: &&Value| {
            labels(other) == labels(machine) && !other["metadata"]["deletionTimestamp"].is_string()
        };
        self.of_kind("Machine").filter(same).collect()
    }

    fn no_more_machines_than_surge_allows(&mut self, machine: &Value) {
        let labels = &machine["metadata"]["labels"];
        let deployment = labels["cluster.x-k8s.io/deployment-name"].as_str();
        let (kind, owner) = match (deployment, labels["cluster.x-k8s.io/control-plane-name"].as_str()) {
            (Some(name), _) => ("MachineDeployment", name),
            (None, Some(name)) => ("KubeadmControlPlane", name),
            (None, None) => return,
        };
        let owner = self.of_kind(kind).find(|object| object["metadata"]["name"] == owner);
        let Some(replicas) = owner.and_then(|owner| owner["spec"]["replicas"].as_i64()) else { return };
        let surge = 1;
        let count = self.siblings(machine).len() as i64;
        if count > replicas + surge {
            let name = machine["metadata"]["name"].as_str().unwrap_or_default();
            self.violations.push(format!("{kind} has {count} machines with {name}, and wants {replicas}"));
        }
    }

    /// While a cluster exists, only one control plane machine is removed at a time, and never the last one.
    /// Machines that the user deletes may have a deletion time together, but are also terminated one at a
    /// time.
    fn quorum_is_kept(&mut self, machine: &Value) {
        let labels = &machine["metadata"]["labels"];
        let Some(control_plane) = labels["cluster.x-k8s.io/control-plane-name"].as_str() else { return };
        let owner =
            self.of_kind("KubeadmControlPlane").find(|object| object["metadata"]["name"] == control_plane);
        if owner.is_none_or(|owner| owner["metadata"]["deletionTimestamp"].is_string()) {
            return;
        }
        let all: Vec<(&String, &Value)> = self
            .objects
            .iter()
            .filter(|(_, other)| other["kind"] == "Machine")
            .filter(|(_, other)| {
                other["metadata"]["labels"]["cluster.x-k8s.io/control-plane-name"] == control_plane
            })
            .collect();
        let goes = |key: &String, machine: &Value| {
            let held = machine["metadata"]["annotations"][HOOK].is_string() && self.deleted.contains(key);
            machine["metadata"]["deletionTimestamp"].is_string() && !held
        };
        let (going, staying): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(key, machine)| goes(key, machine));
        let ready = staying.iter().filter(|(_, machine)| machine["status"]["nodeRef"].is_object()).count();
        if going.len() > 1 || ready == 0 {
            self.violations
                .push(format!("{} control plane machines go at once, {ready} with a node stay", going.len()));
        }
    }

    /// Keys of the remaining objects of a deleted cluster.
    pub fn orphans(&self) -> Vec<String> {
        const LEFT_BY_THE_USER: &[&str] = &["KubeadmConfigTemplate", "DevMachineTemplate"];
        let belongs = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            let api = object["apiVersion"].as_str().unwrap_or_default();
            let labelled = object["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"].is_string();
            (api.contains("cluster.x-k8s.io/") || labelled) && !LEFT_BY_THE_USER.contains(&kind)
        };
        self.objects.iter().filter(|(_, object)| belongs(object)).map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(name: &str, deleting: bool) -> Value {
        let mut machine = json!({
            "kind": "Machine", "apiVersion": "cluster.x-k8s.io/v1beta2",
            "metadata": {"name": name, "labels": {
                "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane-name": "cp"}},
            "status": {"nodeRef": {"name": name}},
        });
        if deleting {
            machine["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        machine
    }

    #[test]
    fn violations_are_seen() {
        let mut invariants = Invariants::default();
        let control_plane =
            json!({"kind": "KubeadmControlPlane", "metadata": {"name": "cp"}, "spec": {"replicas": 1}});
        invariants.observe("cp", Some(control_plane));
        invariants.observe("a", Some(machine("a", false)));
        invariants.observe("b", Some(machine("b", false)));
        assert!(invariants.violations().is_empty());
        invariants.observe("c", Some(machine("c", false)));
        assert_eq!(
            invariants.violations().len(),
            1,
            "three machines where one is wanted and one may be more"
        );
        invariants.observe("a", Some(machine("a", true)));
        assert_eq!(invariants.violations().len(), 1);
        invariants.observe("b", Some(machine("b", true)));
        assert_eq!(invariants.violations().len(), 2, "two at once");
        assert_eq!(invariants.orphans(), ["a", "b", "c"]);
    }
}
