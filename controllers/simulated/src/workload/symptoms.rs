//! What a workload cluster shows of a machine that fails: its Node, its etcd member, a volume.

use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use serde_json::{Value, json};

use super::api::Place;
use super::{Error, Workload};
use crate::names::{ETCD_MEMBER_REMOVED, KUBE_SYSTEM};

/// The name of the volumes' driver.
const DRIVER: &str = "simulated.firstlight.dev";
/// The taint of a Node that is not ready.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The taint of a Node that nobody reaches.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The health of a Node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NodeHealth {
    /// The kubelet reports that all is well.
    #[default]
    Ready,
    /// The kubelet reports that the Node is not ready.
    NotReady,
    /// The kubelet reports nothing.
    Unreachable,
}

impl NodeHealth {
    /// Returns type, status, reason and message of the Node's conditions.
    fn conditions(self) -> [[&'static str; 4]; 4] {
        let pressures = [
            [
                "MemoryPressure",
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ],
            ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
            ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
        ];
        let stopped = |[kind, ..]: [&'static str; 4]| {
            [kind, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."]
        };
        let [memory, disk, pids] = pressures;
        let ready = ["Ready", "True", "KubeletReady", "kubelet is posting ready status"];
        match self {
            Self::Ready => [memory, disk, pids, ready],
            Self::NotReady => {
                [memory, disk, pids, ["Ready", "False", "KubeletNotReady", "the failure is simulated"]]
            }
            Self::Unreachable => [memory, disk, pids, ready].map(stopped),
        }
    }

    /// Returns the key of the taints that the node lifecycle controller sets.
    fn taint(self) -> Option<&'static str> {
        match self {
            Self::Ready => None,
            Self::NotReady => Some(NOT_READY),
            Self::Unreachable => Some(UNREACHABLE),
        }
    }

    /// Returns the Node's conditions. Those of `present` that do not change keep their times, and foreign ones stay.
    pub fn conditions_of(self, present: &[Value], now: DateTime<Utc>) -> Vec<Value> {
        let time = rfc3339(now);
        let wanted = self.conditions();
        let foreign =
            present.iter().filter(|present| !wanted.iter().any(|wanted| present["type"] == wanted[0]));
        let own = wanted.iter().map(|[kind, status, reason, message]| {
            let before = present.iter().find(|present| present["type"] == *kind && present["status"] == *status);
            let since = |field: &str| {
                before.map(|before| before[field].clone()).filter(Value::is_string).unwrap_or_else(|| time.as_str().into())
            };
            json!({"type": kind, "status": status, "reason": reason, "message": message,
                   "lastHeartbeatTime": since("lastHeartbeatTime"), "lastTransitionTime": since("lastTransitionTime")})
        });
        foreign.cloned().chain(own).collect()
    }

    /// Returns the Node's taints. Foreign ones stay.
    pub fn taints_of(self, present: &[Value], now: DateTime<Utc>) -> Vec<Value> {
        let mut taints: Vec<Value> = present.to_vec();
        taints.retain(|taint| {
            let key = taint["key"].as_str();
            key == self.taint() || ![Some(NOT_READY), Some(UNREACHABLE)].contains(&key)
        });
        for effect in ["NoSchedule", "NoExecute"] {
            let Some(key) = self.taint() else { break };
            if !taints.iter().any(|taint| taint["key"] == key && taint["effect"] == effect) {
                taints.push(json!({"key": key, "effect": effect, "timeAdded": rfc3339(now)}));
            }
        }
        taints
    }
}

/// What the workload cluster shows of a machine's failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Symptoms {
    /// The health of the Node.
    pub node: NodeHealth,
    /// Whether the etcd member does not answer.
    pub member_is_unhealthy: bool,
    /// Whether the etcd cluster has lost the member. A lost member does not come back.
    pub member_is_lost: bool,
    /// Whether a volume stays attached to the Node.
    pub volume_is_attached: bool,
}

impl Workload {
    /// Makes the cluster show these symptoms of a machine. Nothing is written if it shows them already.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn show(&self, name: &str, symptoms: Symptoms) -> Result<(), Error> {
        let now = self.clock.now();
        self.show_volume(name, symptoms.volume_is_attached).await?;
        let place = Place::node(name);
        if let Some(node) = self.api.get(place).await {
            let taints = symptoms.node.taints_of(&list(&node, "/spec/taints"), now);
            if taints != list(&node, "/spec/taints") {
                self.api.merge(place, json!({"spec": {"taints": taints}})).await?;
            }
            let conditions = symptoms.node.conditions_of(&list(&node, "/status/conditions"), now);
            let volumes = volumes(&node, name, symptoms.volume_is_attached);
            if conditions != list(&node, "/status/conditions")
                || volumes != list(&node, "/status/volumesAttached")
            {
                let status = json!({"status": {"conditions": conditions, "volumesAttached": volumes}});
                self.api.merge_status(place, status).await?;
            }
        }
        self.show_member(&format!("etcd-{name}"), symptoms, now).await
    }

    async fn show_member(&self, pod: &str, symptoms: Symptoms, now: DateTime<Utc>) -> Result<(), Error> {
        let place = Place::pod(KUBE_SYSTEM, pod);
        let Some(found) = self.api.get(place).await else { return Ok(()) };
        if symptoms.member_is_lost && found["metadata"]["annotations"][ETCD_MEMBER_REMOVED].is_null() {
            self.api.merge(place, json!({"metadata": {"annotations": {ETCD_MEMBER_REMOVED: ""}}})).await?;
        }
        let status = if symptoms.member_is_unhealthy { "False" } else { "True" };
        let conditions = list(&found, "/status/conditions");
        if conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == status) {
            return Ok(());
        }
        let ready = json!([{"type": "Ready", "status": status, "lastTransitionTime": rfc3339(now)}]);
        self.api.merge_status(place, json!({"status": {"conditions": ready}})).await?;
        Ok(())
    }

    /// Creates or deletes the VolumeAttachment of the machine's volume.
    pub(super) async fn show_volume(&self, name: &str, is_attached: bool) -> Result<(), Error> {
        let attachment = format!("{}-{name}", volume(name));
        let place =
            Place { group: "storage.k8s.io", plural: "volumeattachments", namespace: "", name: &attachment };
        if !is_attached {
            return Ok(self.api.delete(place).await?);
        }
        let object = json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": attachment},
            "spec": {"attacher": DRIVER, "nodeName": name, "source": {"persistentVolumeName": volume(name)}},
            "status": {"attached": true},
        });
        Ok(self.api.ensure(object).await?)
    }
}

fn list(object: &Value, pointer: &str) -> Vec<Value> {
    object.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Returns the name of the machine's volume.
fn volume(node: &str) -> String {
    format!("disk-of-{node}")
}

/// Returns the Node's attached volumes, with or without the machine's own. Foreign ones stay.
pub fn volumes(node: &Value, name: &str, is_attached: bool) -> Vec<Value> {
    let own = format!("kubernetes.io/csi/{DRIVER}^{}", volume(name));
    let mut volumes = list(node, "/status/volumesAttached");
    let has = volumes.iter().any(|volume| volume["name"] == own.as_str());
    if is_attached && !has {
        volumes.push(json!({"name": own, "devicePath": ""}));
    } else if !is_attached {
        volumes.retain(|volume| volume["name"] != own.as_str());
    }
    volumes
}
