//! The objects of a cluster with machines on bare metal.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use engine::Manager;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};
use serde_json::{Value, json};

use test_plane::{Fixture, get};

const GROUPS: &[&str] = &[
    "cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "ipam.cluster.x-k8s.io",
    "ipam.metal3.io",
    "metal3.io",
];
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

fn start(manager: &Manager) {
    metal_machines::data::PROVIDERS
        .iter()
        .chain(metal_machines::ipam::PROVIDERS)
        .for_each(|provider| provider.start(manager, &()));
}

/// Starts a server with a Cluster, a pool of three addresses, and the template.
pub async fn fixture(template: Value) -> Fixture {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"}, "spec": {
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "c"}}})).await;
    fixture.create(json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": {"name": "pool"}, "spec": {
        "clusterName": "c", "namePrefix": "p", "prefix": 24, "gateway": "10.0.0.254", "dnsServers": ["10.0.0.53"],
        "pools": [{"start": "10.0.0.1", "end": "10.0.0.3"}]}})).await;
    fixture.create(json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3DataTemplate", "metadata": {"name": "t"}, "spec": template})).await;
    fixture
}

/// Returns a template with metadata and network data that need an address and an interface.
pub fn template() -> Value {
    json!({
        "clusterName": "c",
        "metaData": {
            "indexes": [{"key": "index", "offset": 10, "prefix": "node-"}],
            "objectNames": [{"key": "machine", "object": "machine"}],
            "ipAddressesFromPool": [{"key": "ip", "name": "pool"}],
        },
        "networkData": {
            "links": {"ethernets": [{"type": "phy", "id": "eno1", "macAddress": {"fromHostInterface": "eno1"}}]},
            "networks": {"ipv4": [{"id": "net", "link": "eno1", "ipAddressFromIPPool": "pool",
                "routes": [{"network": "0.0.0.0", "prefix": 0, "gateway": {"fromIPPool": "pool"}}]}]},
            "services": {"dnsFromIPPool": "pool"},
        },
    })
}

/// Creates Machine, Metal3Machine and BareMetalHost.
pub async fn machine(fixture: &Fixture, name: &str) {
    let machine = fixture.create(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": format!("{name}-machine")}, "spec": {"clusterName": "c",
            "bootstrap": {"dataSecretName": "b"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": name}}})).await;
    fixture
        .create(json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine",
        "metadata": {"name": name, "annotations": {"metal3.io/BareMetalHost": format!("default/{name}-host")},
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "name": format!("{name}-machine"), "uid": machine.metadata.uid, "controller": true}]},
        "spec": {"image": {"url": "http://image", "checksum": "http://sum"}}}))
        .await;
    fixture.create(json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": format!("{name}-host")},
        "spec": {"online": true, "bootMACAddress": "52:54:00:00:00:01",
            "consumerRef": {"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine", "name": name, "namespace": "default"}},
        "status": {"provisioning": {"state": "available", "ID": ""}, "operationalStatus": "OK", "poweredOn": false,
            "errorMessage": "", "errorCount": 0, "hardware": {"nics": [
            {"name": "eno1", "mac": "52:54:00:00:00:01"}, {"name": "eno2", "mac": "52:54:00:00:00:02"}]}}})).await;
}

/// Creates the claim of a Metal3Machine.
pub async fn claim(fixture: &Fixture, name: &str) {
    let machines = fixture.list::<schemas::infrastructure::Metal3Machine>().await;
    let machine = machines.iter().find(|machine| machine.metadata.name.as_deref() == Some(name)).unwrap();
    fixture
        .create(json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3DataClaim",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine", "name": name,
                "uid": machine.metadata.uid, "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"template": {"name": "t"}}}))
        .await;
}

/// Returns the Metal3Data of a claim.
pub fn data(manager: &Manager, claim: &str) -> Option<Metal3Data> {
    let name = get::<Metal3DataClaim>(manager, claim)?.status.clone()?.rendered_data?.name?;
    Some(get::<Metal3Data>(manager, &name)?.as_ref().clone())
}

/// Returns whether the data of a claim are rendered.
pub fn is_ready(manager: &Manager, claim: &str) -> bool {
    data(manager, claim).is_some_and(|data| data.status.unwrap_or_default().ready == Some(true))
}

/// Returns what is wrong with the data of a claim.
pub fn problem(manager: &Manager, claim: &str) -> Option<String> {
    data(manager, claim)?.status?.error_message
}

/// Returns the indexes in the status of the template.
pub fn indexes(manager: &Manager) -> Vec<(i32, String)> {
    let template = get::<Metal3DataTemplate>(manager, "t");
    let status = template.and_then(|template| template.status.clone()).unwrap_or_default();
    status.indexes.into_iter().map(|index| (index.index, index.name)).collect()
}
