//! Names at their limits.

use engine::Manager;
use engine::object::label;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use serde_json::json;
use test_plane::{World, get};

use super::rests;
use crate::whole::{GROUPS, reference, start};

/// The longest names of a Cluster and of other objects.
const CLUSTER: usize = 63;
const OBJECT: usize = 253;

#[tokio::test(start_paused = true)]
async fn objects_with_the_longest_names_make_machines() {
    let world = World::new(GROUPS, start).await;
    let (cluster, long) = ("c".repeat(CLUSTER), "p".repeat(OBJECT));
    let metadata = |name: &str| json!({"name": name, "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": cluster}});
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let backend = json!({"backend": {"inMemory": {}}});
    let machine = json!({"template": {"spec": backend}});
    for object in [
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata(&cluster), "spec": {
            "infrastructureRef": reference("infrastructure", "DevCluster", &long),
            "controlPlaneRef": reference("controlplane", "KubeadmControlPlane", &long)}}),
        json!({"apiVersion": infrastructure, "kind": "DevCluster", "metadata": metadata(&long), "spec": backend}),
        json!({"apiVersion": infrastructure, "kind": "DevMachineTemplate", "metadata": metadata(&long), "spec": machine}),
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": metadata(&long),
            "spec": {"replicas": 1, "version": "v1.35.0", "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["localhost"]}}},
                "machineTemplate": {"spec": {"infrastructureRef": reference("infrastructure", "DevMachineTemplate", &long)}}}}),
        json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": metadata(&long),
            "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"criSocket": "s"}}}}}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "metadata": metadata(&long), "spec": {
            "clusterName": cluster, "replicas": 1, "selector": {"matchLabels": {"pool": "a"}},
            "template": {"metadata": {"labels": {"pool": "a"}}, "spec": {"clusterName": cluster, "version": "v1.35.0",
                "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate", &long)},
                "infrastructureRef": reference("infrastructure", "DevMachineTemplate", &long)}}}}),
    ] {
        world.create(object).await;
    }
    let name = cluster.clone();
    let all = |manager: &Manager| {
        manager.objects::<Machine>().by_cluster(&engine::NamespacedName::new("default", name.as_str()))
    };
    let is_up = |manager: &Manager| {
        let machines = all(manager);
        machines.len() == 2 && machines.iter().all(|machine| machine.condition_is_true("Available"))
    };
    world.until("both Machines are available", is_up).await;
    let condition =
        |manager: &Manager| get::<Cluster>(manager, &name).unwrap().condition_is_true("Available");
    world.until("the Cluster is available", condition).await;
    for machine in all(&world.manager) {
        let own = machine.metadata.name.clone().unwrap();
        assert_eq!(own.len(), 63, "{own}: a Node has its name, which is a label of the Node, too");
        let owner = ["cluster.x-k8s.io/control-plane-name", "cluster.x-k8s.io/set-name"];
        let value = owner.iter().find_map(|key| label(machine.as_ref(), key)).unwrap();
        assert!(value.starts_with("hash_") && value.ends_with("_z") && value.len() <= 63, "{value}");
    }
    let events = Api::<Event>::namespaced(world.manager.client().clone(), "default");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let is_about = |event: &Event| event.involved_object.name.as_ref() == Some(&long);
    assert!(events.iter().any(is_about), "events about objects with long names are recorded");
    rests(&world, 0).await;
    world.manager.stop().await;
}
