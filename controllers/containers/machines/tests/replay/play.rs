//! Lives a recording again: others write what they wrote there, and the host does what befell it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Kind;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{DevCluster, DevMachine};
use serde::Serialize;
use serde_json::{Value, json};
use test_plane::World;

use super::compare::{self, Difference, Writes};
use super::facts::{Facts, changes, facts};
use super::recording::{Line, parse};
use crate::containers_machines::fixture::{CORE, DATA, GROUPS, INFRASTRUCTURE, get, secret};
use crate::containers_machines::host::Host;

/// Longer than a look at containers, and than any step of the host.
const REST: Duration = Duration::from_secs(45);

/// What the Dev provider stumbles over.
const MORE: &str = "ntp:\n  enabled: true\nusers:\n- name: somebody\n";

/// What a machine with another format of bootstrap data gets.
const IGNITION: &str = r#"{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"filesystem": "root", "path": "/etc/kubeadm.sh",
    "mode": 448, "contents": {"source": "data:,kubeadm%20join%0A"}}]}, "systemd": {"units": [{"name": "kubeadm.service",
    "enabled": true, "contents": "[Service]\nExecStart=/etc/kubeadm.sh\n"}]}}"#;

/// What befalls the host in a step whose name begins like this.
pub type Events<'a> = &'a [(&'a str, fn(&Host))];

/// What our controllers have written.
#[derive(Default)]
struct Seen {
    objects: BTreeMap<String, Facts>,
    writes: Writes,
}

impl Seen {
    fn change<K: Kind<DynamicType = ()> + Serialize>(&mut self, change: &engine::Change<K>) {
        let key = format!("{} {}", K::kind(&()), change.name().name);
        let Some(new) = &change.new else {
            self.objects.remove(&key);
            let gone = super::recording::Fact {
                name: "gone".to_owned(),
                value: String::new(),
                message: String::new(),
            };
            self.writes.entry(key).or_default().push(vec![gone]);
            return;
        };
        let facts = facts(&serde_json::to_value(new.as_ref()).unwrap());
        let before = self.objects.insert(key.clone(), facts.clone()).unwrap_or_default();
        let changed = changes(&before, &facts);
        if !changed.is_empty() {
            self.writes.entry(key).or_default().push(changed);
        }
    }
}

/// Lives a recording, and returns what was different. What is at rest is not compared at the end of the steps in `unfinished`.
pub async fn play(recording: &str, events: Events<'_>, unfinished: &[&str]) -> Vec<Difference> {
    let lines = parse(recording);
    let first = lines.iter().position(|line| matches!(line, Line::Step(_))).unwrap();
    let mut player = Player::new(&lines[..first]).await;
    let mut differences = Vec::new();
    let mut step = String::new();
    for line in &lines[first..] {
        match line {
            Line::Step(name) => {
                differences.extend(player.end(&step, unfinished).await);
                step.clone_from(name);
                events
                    .iter()
                    .filter(|(start, _)| name.starts_with(start))
                    .for_each(|(_, befall)| befall(&player.host));
            }
            Line::Input(kind, name, patch) => player.write(kind, name, patch).await,
            Line::Write(object, written) => {
                player.rest().await;
                player.recorded(object, written);
            }
        }
    }
    differences.extend(player.end(&step, unfinished).await);
    differences.extend(compare::lives(&player.recorded, &player.seen.lock().writes));
    player.world.manager.stop().await;
    differences
}

struct Player {
    world: World,
    host: Host,
    seen: Arc<Mutex<Seen>>,
    recorded: Writes,
    /// What was recorded of each object.
    theirs: BTreeMap<String, Facts>,
    uids: BTreeMap<(String, String), String>,
    is_at_rest: bool,
}

impl Player {
    /// Makes what is there when the recording begins, and starts the controllers.
    async fn new(begun: &[Line]) -> Self {
        let host = Host::alone();
        let (started, nodes) = (Arc::new(AtomicBool::new(false)), host.clone());
        let may_start = started.clone();
        let world = World::new(GROUPS, move |manager| {
            if may_start.load(Ordering::SeqCst) {
                let nodes = nodes.nodes();
                container_machines::PROVIDERS.iter().for_each(|provider| provider.start(manager, &nodes));
            }
        });
        let mut player = Self {
            world: world.await,
            host,
            seen: Arc::default(),
            recorded: Writes::new(),
            theirs: BTreeMap::new(),
            uids: BTreeMap::new(),
            is_at_rest: false,
        };
        for line in begun {
            let Line::Input(kind, name, object) = line else { panic!("{line:?}") };
            player.write(kind, name, object).await;
            if let Some(id) = object["spec"]["providerID"].as_str().filter(|_| kind == "DevMachine") {
                player.host.with(|contents| contents.adopt(id.trim_start_matches("docker:////")));
            }
            if kind.starts_with("Dev") {
                player.theirs.insert(format!("{kind} {name}"), facts(object));
            }
        }
        player.seen.lock().objects = player.theirs.clone();
        player.watch::<DevCluster>();
        player.watch::<DevMachine>();
        started.store(true, Ordering::SeqCst);
        (player.world.start)(&player.world.manager);
        player.rest().await;
        player
    }

    fn watch<K: Kind<DynamicType = ()> + Serialize>(&self) {
        let seen = self.seen.clone();
        self.world.manager.objects::<K>().subscribe(move |change| seen.lock().change(change));
    }

    async fn rest(&mut self) {
        if !self.is_at_rest {
            tokio::time::sleep(REST).await;
            self.is_at_rest = true;
        }
    }

    /// Ends a step: compares what is at rest.
    async fn end(&mut self, step: &str, unfinished: &[&str]) -> Vec<Difference> {
        self.is_at_rest = false;
        self.rest().await;
        self.is_at_rest = false;
        if step.is_empty() || unfinished.iter().any(|start| step.starts_with(start)) {
            return Vec::new();
        }
        compare::at_rest(&self.theirs, &self.seen.lock().objects)
    }

    /// Notes a write of the recording.
    fn recorded(&mut self, object: &str, written: &[super::recording::Fact]) {
        self.recorded.entry(object.to_owned()).or_default().push(written.to_vec());
        if written.iter().any(|fact| fact.name == "gone") {
            self.theirs.remove(object);
            return;
        }
        let facts = self.theirs.entry(object.to_owned()).or_default();
        for fact in written {
            match fact.name.strip_suffix(" removed") {
                Some(name) => drop(facts.remove(name)),
                None => drop(facts.insert(fact.name.clone(), fact.clone())),
            }
        }
    }

    /// Writes what somebody else wrote there.
    async fn write(&mut self, kind: &str, name: &str, patch: &Value) {
        self.is_at_rest = false;
        if let Some(data) = patch["spec"]["bootstrap"]["dataSecretName"].as_str() {
            let secrets = self.world.manager.objects::<k8s_openapi::api::core::v1::Secret>();
            if secrets.get(&engine::NamespacedName::new("default", data)).is_none() {
                let secrets = match data.split('-').next() {
                    Some("ign") => json!({"value": IGNITION, "format": "ignition"}),
                    Some("bad") if data.starts_with("bad-ntp") => json!({"value": format!("{DATA}{MORE}")}),
                    _ => json!({"value": DATA}),
                };
                secret(&self.world, "default", data, secrets).await;
            }
        }
        let mut object = patch.clone();
        let fields = object.as_object_mut().unwrap();
        let (gone, deleted) = (fields.remove("gone").is_some(), fields.remove("deleted").is_some());
        if let Some(owners) = fields.remove("owners") {
            object["metadata"]["ownerReferences"] =
                owners.as_array().unwrap().iter().map(|owner| self.owner(owner)).collect();
        }
        complete(&mut object);
        let key = (kind.to_owned(), name.to_owned());
        if !self.uids.contains_key(&key) {
            object["apiVersion"] = if kind.starts_with("Dev") { INFRASTRUCTURE } else { CORE }.into();
            (object["kind"], object["metadata"]["name"]) = (kind.into(), name.into());
            let created = self.world.create(object).await;
            self.uids.insert(key, created.metadata.uid.unwrap());
            return;
        }
        match kind {
            "Cluster" => self.patch::<Cluster>(name, &object).await,
            "Machine" => self.patch::<Machine>(name, &object).await,
            "DevCluster" => self.patch::<DevCluster>(name, &object).await,
            _ => self.patch::<DevMachine>(name, &object).await,
        }
        if deleted || gone {
            match kind {
                "Cluster" => self.delete::<Cluster>(name, gone).await,
                "Machine" => self.delete::<Machine>(name, gone).await,
                "DevCluster" => self.delete::<DevCluster>(name, gone).await,
                _ => self.delete::<DevMachine>(name, gone).await,
            }
        }
    }

    fn owner(&self, owner: &Value) -> Value {
        let (kind, name) = (owner[0].as_str().unwrap(), owner[1].as_str().unwrap());
        let uid = &self.uids[&(kind.to_owned(), name.to_owned())];
        json!({"apiVersion": CORE, "kind": kind, "name": name, "uid": uid, "controller": kind == "Machine"})
    }

    fn api<K: Kind<DynamicType = (), Scope = kube::core::NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.world.user(), "default")
    }

    async fn patch<K>(&self, name: &str, patch: &Value)
    where
        K: Kind<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let parameters = PatchParams::default();
        let (spec, status) =
            (json!({"metadata": patch["metadata"], "spec": patch["spec"]}), &patch["status"]);
        let mut spec = spec;
        spec.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let api = self.api::<K>();
        // What was deleted there may be gone here already.
        if api.get_opt(name).await.unwrap().is_none() {
            return;
        }
        if spec != json!({}) {
            api.patch(name, &parameters, &Patch::Merge(&spec)).await.unwrap();
        }
        if !status.is_null() {
            api.patch_status(name, &parameters, &Patch::Merge(json!({"status": status}))).await.unwrap();
        }
    }

    /// Begins a deletion, or ends it.
    async fn delete<K>(&self, name: &str, ends: bool)
    where
        K: Kind<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let api = self.api::<K>();
        if ends && api.get_opt(name).await.unwrap().is_some() {
            let none = json!({"metadata": {"finalizers": null}});
            api.patch(name, &PatchParams::default(), &Patch::Merge(none)).await.unwrap();
        }
        if api.get_opt(name).await.unwrap().is_some() {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        }
        let is_gone = || get::<K>(&self.world.manager, "default", name).is_none();
        if ends {
            self.world.until("it is gone", |_| is_gone()).await;
        }
    }
}

/// Adds what each condition must have, and no recording needs.
fn complete(object: &mut Value) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.entry("message").or_insert_with(|| "".into());
        condition.entry("lastTransitionTime").or_insert_with(|| "2026-11-21T00:00:00Z".into());
    }
}
