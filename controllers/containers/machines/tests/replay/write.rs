//! Writes what others wrote in a recording.

use engine::Kind;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevCluster, DevMachine, DevMachinePool};
use serde_json::{Value, json};

use super::play::Player;
use crate::containers_machines::fixture::{CORE, DATA, INFRASTRUCTURE, get, secret};

/// What the Dev provider stumbles over.
const MORE: &str = "ntp:\n  enabled: true\nusers:\n- name: somebody\n";

/// What a machine with another format of bootstrap data gets.
const IGNITION: &str = r#"{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"filesystem": "root", "path": "/etc/kubeadm.sh",
    "mode": 448, "contents": {"source": "data:,kubeadm%20join%0A"}}]}, "systemd": {"units": [{"name": "kubeadm.service",
    "enabled": true, "contents": "[Service]\nExecStart=/etc/kubeadm.sh\n"}]}}"#;

impl Player {
    /// Writes what somebody else wrote there.
    pub(super) async fn write(&mut self, kind: &str, name: &str, patch: &Value) {
        self.is_at_rest = false;
        self.bootstrap_data(patch).await;
        let mut object = patch.clone();
        let fields = object.as_object_mut().unwrap();
        let (gone, deleted) = (fields.remove("gone").is_some(), fields.remove("deleted").is_some());
        if let Some(owners) = fields.remove("owners") {
            object["metadata"]["ownerReferences"] =
                owners.as_array().unwrap().iter().map(|owner| self.owner(owner)).collect();
        }
        complete(&mut object);
        let (object, ours) = {
            let members = &self.seen.lock().members;
            let object: Value = serde_json::from_str(&members.to_ours(&object.to_string())).unwrap();
            (object, members.to_ours(name))
        };
        let key = (kind.to_owned(), name.to_owned());
        let is_made = self.uids.contains_key(&key) || (kind == "DevMachine" && ours != name);
        if !is_made {
            let uid = self.create(kind, &ours, object).await;
            self.uids.insert(key, uid);
            return;
        }
        match kind {
            "Cluster" => self.change::<Cluster>(&ours, &object, deleted, gone).await,
            "Machine" => self.change::<Machine>(&ours, &object, deleted, gone).await,
            "MachinePool" => self.change::<MachinePool>(&ours, &object, deleted, gone).await,
            "DevCluster" => self.change::<DevCluster>(&ours, &object, deleted, gone).await,
            "DevMachinePool" => self.change::<DevMachinePool>(&ours, &object, deleted, gone).await,
            _ => self.change::<DevMachine>(&ours, &object, deleted, gone).await,
        }
        if gone {
            self.theirs.remove(&format!("{kind} {name}"));
        }
    }

    /// Creates an object, and returns its UID.
    async fn create(&self, kind: &str, name: &str, mut object: Value) -> String {
        if kind == "Secret" {
            secret(&self.fixture, "default", name, json!({"value": self.workload.kubeconfig})).await;
            return String::new();
        }
        object["apiVersion"] = group(kind).into();
        (object["kind"], object["metadata"]["name"]) = (kind.into(), name.into());
        self.fixture.create(object).await.metadata.uid.unwrap()
    }

    /// Creates the Secret that a machine or a pool names, if it is not there.
    async fn bootstrap_data(&self, patch: &Value) {
        let of_pool = &patch["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"];
        let data = patch["spec"]["bootstrap"]["dataSecretName"].as_str().or(of_pool.as_str());
        let Some(data) = data.filter(|data| !data.is_empty()) else { return };
        if get::<Secret>(&self.fixture.manager, "default", data).is_some() {
            return;
        }
        let secrets = match data.split('-').next() {
            Some("ign") => json!({"value": IGNITION, "format": "ignition"}),
            Some("bad") if data.starts_with("bad-ntp") => json!({"value": format!("{DATA}{MORE}")}),
            _ => json!({"value": DATA}),
        };
        secret(&self.fixture, "default", data, secrets).await;
    }

    fn owner(&self, owner: &Value) -> Value {
        let (kind, name) = (owner[0].as_str().unwrap(), owner[1].as_str().unwrap());
        let uid = &self.uids[&(kind.to_owned(), name.to_owned())];
        let is_controller = ["Machine", "MachinePool"].contains(&kind);
        json!({"apiVersion": group(kind), "kind": kind, "name": name, "uid": uid, "controller": is_controller})
    }

    async fn change<K>(&self, name: &str, patch: &Value, deleted: bool, gone: bool)
    where
        K: Kind<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        self.patch::<K>(name, patch).await;
        if deleted || gone {
            self.delete::<K>(name, gone).await;
        }
    }

    fn api<K: Kind<DynamicType = (), Scope = kube::core::NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.fixture.user(), "default")
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
        let is_gone = || get::<K>(&self.fixture.manager, "default", name).is_none();
        if ends {
            self.fixture.until("it is gone", |_| is_gone()).await;
        }
    }
}

fn group(kind: &str) -> &'static str {
    if kind.starts_with("Dev") { INFRASTRUCTURE } else { CORE }
}

/// Adds what each condition must have, and no recording needs.
fn complete(object: &mut Value) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.entry("message").or_insert_with(|| "".into());
        condition.entry("lastTransitionTime").or_insert_with(|| "2026-11-21T00:00:00Z".into());
    }
}
