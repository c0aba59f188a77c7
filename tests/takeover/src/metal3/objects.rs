//! The objects of the source: hosts in all states in which a host rests, and a cluster with one machine.

use std::time::Duration;

use anyhow::{Context as _, Result};
use netboot_tests::server::Objects;
use netboot_tests::wait::until;
use serde_json::{Value, json};

use super::bmcs::Bmc;

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";
/// The name of the Cluster.
const CLUSTER: &str = "takeover";
/// The host of the Cluster's machine.
pub const NODE: &str = "node-0";
/// The annotation that pauses a host.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The limit for each step at the source.
const DEADLINE: Duration = Duration::from_secs(120);
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const CORE: &str = "cluster.x-k8s.io/v1beta2";

/// What becomes of a host at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Ironic knows it by adoption.
    Adopted,
    /// Ironic knows it, and it is free.
    Manageable,
    /// Ironic must not know it.
    Unknown,
}

/// A host of the test.
#[derive(Debug)]
pub struct Host {
    /// Its name.
    pub name: &'static str,
    /// Its state, from the beginning to the end.
    pub state: &'static str,
    /// Whether it has a BMC.
    pub has_bmc: bool,
    /// Whether its machine is on.
    pub is_on: bool,
    /// An annotation by a user.
    annotation: Option<(&'static str, &'static str)>,
    /// What becomes of it.
    pub takeover: Takeover,
}

impl Host {
    /// Returns whether a user has paused it.
    pub fn is_paused(&self) -> bool {
        self.annotation.is_some_and(|(key, _)| key == PAUSED)
    }
}

/// All hosts.
pub const HOSTS: [Host; 6] = [
    Host {
        name: NODE,
        state: "provisioned",
        has_bmc: true,
        is_on: true,
        annotation: None,
        takeover: Takeover::Adopted,
    },
    Host {
        name: "spare",
        state: "available",
        has_bmc: true,
        is_on: false,
        annotation: None,
        takeover: Takeover::Manageable,
    },
    Host {
        name: "external",
        state: "externally provisioned",
        has_bmc: true,
        is_on: true,
        annotation: None,
        takeover: Takeover::Adopted,
    },
    Host {
        name: "paused",
        state: "provisioned",
        has_bmc: true,
        is_on: true,
        annotation: Some((PAUSED, "a user")),
        takeover: Takeover::Unknown,
    },
    Host {
        name: "detached",
        state: "provisioned",
        has_bmc: true,
        is_on: true,
        annotation: Some(("baremetalhost.metal3.io/detached", "")),
        takeover: Takeover::Unknown,
    },
    Host {
        name: "by-hand",
        state: "provisioned",
        has_bmc: false,
        is_on: true,
        annotation: Some(("metal.firstlight.dev/power", "manual")),
        takeover: Takeover::Unknown,
    },
];

/// Returns what [`Objects`] needs to find an object.
pub fn like(version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}})
}

/// Returns the reference to a host.
pub fn host_like(name: &str) -> Value {
    like("metal3.io/v1alpha1", "BareMetalHost", name)
}

fn object(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut made = like(version, kind, name);
    for (field, value) in rest.as_object().into_iter().flatten() {
        match (field.as_str(), value.as_object()) {
            ("metadata", Some(metadata)) => {
                for (field, value) in metadata {
                    made["metadata"][field] = value.clone();
                }
            }
            _ => made[field] = value.clone(),
        }
    }
    made
}

fn image() -> Value {
    json!({
        "url": "http://images.example/node.raw", "checksumType": "sha256", "format": "raw",
        "checksum": "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
    })
}

/// Returns the details that an inspection found.
fn hardware(number: usize) -> Value {
    json!({
        "cpu": {"arch": "x86_64", "count": 4}, "ramMebibytes": 4096, "hostname": HOSTS.get(number).map(|host| host.name),
        "nics": [{"name": "eth0", "mac": mac(number), "ip": format!("192.0.2.{}", number + 10)}],
        "storage": [{"name": "/dev/sda", "sizeBytes": 10_737_418_240_u64}],
    })
}

fn mac(number: usize) -> String {
    format!("52:54:00:00:01:{number:02x}")
}

/// The status of a host in the form in which `clusterctl move` brings it.
fn status(number: usize, host: &Host) -> Value {
    let image = if host.state == "provisioned" { image() } else { json!({"url": ""}) };
    json!({
        "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": host.is_on, "hardwareProfile": "unknown",
        "hardware": hardware(number),
        "provisioning": {
            "ID": format!("5a0e1c1e-0000-4000-8000-{number:012}"), "state": host.state, "image": image, "bootMode": "UEFI",
            "rootDeviceHints": {"deviceName": "/dev/sda"},
        },
    })
}

/// Creates the hosts, each with its status, and waits until it has it.
async fn describe_host(source: &Objects, number: usize, host: &Host, bmc: Option<&Bmc>) -> Result<()> {
    let mut annotations = json!({"baremetalhost.metal3.io/status": status(number, host).to_string()});
    let mut spec = json!({
        "online": host.is_on, "bootMACAddress": mac(number), "rootDeviceHints": {"deviceName": "/dev/sda"},
    });
    if host.state != "available" {
        spec["image"] = image();
    }
    if host.state == "externally provisioned" {
        spec["externallyProvisioned"] = true.into();
    }
    if let Some(bmc) = bmc {
        spec["bmc"] = json!({"address": bmc.url(), "credentialsName": "bmc"});
    }
    let wanted = host_like(host.name);
    let user = host.annotation.filter(|(key, _)| *key != PAUSED);
    if let Some((key, value)) = user {
        annotations[key] = value.into();
    }
    source
        .apply(&object(
            "metal3.io/v1alpha1",
            "BareMetalHost",
            host.name,
            json!({"metadata": {"annotations": annotations}, "spec": spec}),
        ))
        .await?;
    let wanted = &wanted;
    until(&format!("the status of {}", host.name), DEADLINE, || async move {
        let found = source.get(wanted).await.unwrap_or_default();
        (found["status"]["provisioning"]["state"] == host.state).then_some(())
    })
    .await?;
    // A paused host would not get its status.
    if let Some((key, value)) = host.annotation.filter(|(key, _)| *key == PAUSED) {
        source.merge(wanted, json!({"metadata": {"annotations": {key: value}}})).await?;
    }
    let uid = source.get(wanted).await?["metadata"]["uid"].clone();
    let owner = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": host.name, "uid": uid, "controller": true,
    });
    let metadata =
        json!({"ownerReferences": [owner], "finalizers": ["baremetalhost.metal3.io/hardwareData"]});
    let data = json!({"metadata": metadata, "spec": {"hardware": hardware(number)}});
    source.apply(&object("metal3.io/v1alpha1", "HardwareData", host.name, data)).await
}

/// Creates a Cluster whose only machine runs on [`NODE`]. Its API server is that of `kubeconfig`, where the Node exists already.
async fn describe_cluster(source: &Objects, port: u16, kubeconfig: &str) -> Result<()> {
    let labels = json!({"cluster.x-k8s.io/cluster-name": CLUSTER});
    let infrastructure = |kind: &str, name: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name});
    let secret = |name: &str, key: &str, value: &str| {
        object(
            "v1",
            "Secret",
            name,
            json!({
                "type": "cluster.x-k8s.io/secret", "metadata": {"labels": labels}, "stringData": {key: value},
            }),
        )
    };
    let mut machine_labels = labels.clone();
    machine_labels["cluster.x-k8s.io/control-plane"] = "".into();
    let endpoint = json!({"host": "127.0.0.1", "port": port});
    let host = format!("{NAMESPACE}/{NODE}");
    for wanted in [
        secret("takeover-kubeconfig", "value", kubeconfig),
        secret("node-0-bootstrap", "value", "#cloud-config\n"),
        object(
            CORE,
            "Cluster",
            CLUSTER,
            json!({"spec": {"infrastructureRef": infrastructure("Metal3Cluster", CLUSTER)}}),
        ),
        object(INFRASTRUCTURE, "Metal3Cluster", CLUSTER, json!({"spec": {"controlPlaneEndpoint": endpoint}})),
        object(
            CORE,
            "Machine",
            NODE,
            json!({"metadata": {"labels": machine_labels}, "spec": {
                "clusterName": CLUSTER, "version": "v1.36.0", "bootstrap": {"dataSecretName": "node-0-bootstrap"},
                "infrastructureRef": infrastructure("Metal3Machine", NODE),
            }}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3Machine",
            NODE,
            json!({
                "metadata": {"labels": labels, "annotations": {"metal3.io/BareMetalHost": host}},
                "spec": {"image": machine_image()},
            }),
        ),
    ] {
        source.apply(&wanted).await.with_context(|| wanted["kind"].to_string())?;
    }
    let machine = &like(CORE, "Machine", NODE);
    let waited = until("the Node of the Machine", DEADLINE, || async move {
        let found = source.get(machine).await.unwrap_or_default();
        (found["status"]["nodeRef"]["name"] == NODE).then_some(())
    });
    waited.await
}

/// The image in the form of a Metal3Machine.
fn machine_image() -> Value {
    let mut image = image();
    image["diskFormat"] = image["format"].take();
    if let Some(fields) = image.as_object_mut() {
        fields.remove("format");
    }
    image
}

/// Creates everything at the source, and waits until it rests. The workload cluster's API server, with the Node, is that of
/// `kubeconfig` on `port`.
///
/// # Errors
/// The source refuses an object, or does not come to rest.
pub async fn describe(source: &Objects, bmcs: &[Bmc], port: u16, kubeconfig: &str) -> Result<()> {
    let credentials = json!({"stringData": {"username": "admin", "password": "correct horse"}});
    source.apply(&object("v1", "Secret", "bmc", credentials)).await?;
    for (number, host) in HOSTS.iter().enumerate() {
        let bmc = bmcs.iter().find(|bmc| bmc.host == host.name);
        describe_host(source, number, host, bmc).await.with_context(|| host.name)?;
    }
    describe_cluster(source, port, kubeconfig).await?;
    let (cluster, machine) = (&like(CORE, "Cluster", CLUSTER), &like(INFRASTRUCTURE, "Metal3Machine", NODE));
    until("an initialized Cluster and a ready Metal3Machine", DEADLINE, || async move {
        let cluster = source.get(cluster).await.unwrap_or_default();
        let machine = source.get(machine).await.unwrap_or_default();
        (is_true(&cluster, "ControlPlaneInitialized") && is_true(&machine, "Ready")).then_some(())
    })
    .await
}

/// Creates the Node of [`NODE`] in the workload cluster.
///
/// # Errors
/// The server refuses it.
pub async fn describe_node(workload: &Objects) -> Result<()> {
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""});
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": NODE, "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "spec": {"providerID": format!("metal3://{NAMESPACE}/{NODE}/{NODE}")},
        "status": {"conditions": [ready]},
    });
    workload.apply(&node).await
}

/// Returns whether a condition is true.
pub fn is_true(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == condition && one["status"] == "True"))
}

/// What Metal3's provider for Cluster API reads before it counts a machine as provisioned (`contract/metal3`, §3.3). Returns what is not
/// as it must be.
///
/// # Errors
/// The objects cannot be read.
pub async fn wrong_for_provider(target: &Objects) -> Result<Vec<String>> {
    let host = target.get(&host_like(NODE)).await?;
    let metal3_machine = target.get(&like(INFRASTRUCTURE, "Metal3Machine", NODE)).await?;
    let machine = target.get(&like(CORE, "Machine", NODE)).await?;
    let id = format!("metal3://{NAMESPACE}/{NODE}/{NODE}");
    let consumer = &host["spec"]["consumerRef"];
    let mut wrong = Vec::new();
    for (is_right, what) in [
        (is_true(&metal3_machine, "Ready"), "the Metal3Machine is not ready"),
        (metal3_machine["spec"]["providerID"] == id, "the Metal3Machine has another provider ID"),
        (machine["spec"]["providerID"] == id, "the Machine has another provider ID"),
        (
            metal3_machine["metadata"]["annotations"]["metal3.io/BareMetalHost"]
                == format!("{NAMESPACE}/{NODE}"),
            "the Metal3Machine does not name its host",
        ),
        (
            metal3_machine["status"]["initialization"]["provisioned"] == true,
            "the Metal3Machine is not provisioned",
        ),
        (
            consumer["kind"] == "Metal3Machine" && consumer["name"] == NODE,
            "the host does not name its Metal3Machine",
        ),
        (
            host["spec"]["image"]["url"] == host["status"]["provisioning"]["image"]["url"],
            "the host has another image than it wants",
        ),
    ] {
        if !is_right {
            wrong.push(what.to_owned());
        }
    }
    Ok(wrong)
}
