//! Manifests of clusters on the hosts of the fleet.

use serde_json::{Value, json};

use super::{NAMESPACE, mac, name};

/// The Secret with BMC credentials and the host of machine `number`, which runs nothing yet.
pub fn free_host(number: usize) -> [Value; 2] {
    let name = name(number);
    let secret = format!("{name}-bmc");
    let address = format!("redfish://10.1.{}.{}/redfish/v1/Systems/1", number >> 8, number & 0xff);
    [
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": secret, "namespace": NAMESPACE},
            "stringData": {"username": "admin", "password": "password"},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"rack": format!("r{}", number % 4)}},
            "spec": {
                "online": false,
                "bootMACAddress": mac(number),
                "bmc": {"address": address, "credentialsName": secret},
            },
        }),
    ]
}

/// A cluster with `control_plane` and `workers` machines. Its API server listens on `port` of `address`.
pub fn cluster(
    number: usize,
    control_plane: usize,
    workers: usize,
    (address, port): (&str, u16),
) -> Vec<Value> {
    let name = format!("cluster-{number}");
    let object = |version: &str, kind: &str, suffix: &str, spec: Value| {
        json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": format!("{name}{suffix}"), "namespace": NAMESPACE},
            "spec": spec,
        })
    };
    let core = "cluster.x-k8s.io/v1beta2";
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let reference = |kind: &str, group: &str, suffix: &str| json!({"apiGroup": group, "kind": kind, "name": format!("{name}{suffix}")});
    let group = "infrastructure.cluster.x-k8s.io";
    let image = json!({"url": "http://images/node.raw", "checksum": "00", "checksumType": "sha256", "diskFormat": "raw"});
    let node = json!({"nodeRegistration": {"kubeletExtraArgs": [
        {"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"},
    ]}});
    vec![
        object(
            core,
            "Cluster",
            "",
            json!({
                "controlPlaneRef": reference("KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "-plane"),
                "infrastructureRef": reference("Metal3Cluster", group, ""),
            }),
        ),
        object(
            infrastructure,
            "Metal3Cluster",
            "",
            json!({
                "controlPlaneEndpoint": {"host": address, "port": port}, "cloudProviderEnabled": false,
            }),
        ),
        object(
            "controlplane.cluster.x-k8s.io/v1beta2",
            "KubeadmControlPlane",
            "-plane",
            json!({
                "replicas": control_plane, "version": "v1.36.0",
                "machineTemplate": {"spec": {"infrastructureRef": reference("Metal3MachineTemplate", group, "-plane")}},
                "kubeadmConfigSpec": {"initConfiguration": node, "joinConfiguration": node},
            }),
        ),
        object(
            infrastructure,
            "Metal3MachineTemplate",
            "-plane",
            json!({"template": {"spec": {"image": image}}}),
        ),
        object(
            core,
            "MachineDeployment",
            "-md",
            json!({
                "clusterName": name, "replicas": workers,
                "selector": {"matchLabels": {}},
                "template": {"spec": {
                    "clusterName": name, "version": "v1.36.0",
                    "bootstrap": {"configRef": reference("KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io", "-md")},
                    "infrastructureRef": reference("Metal3MachineTemplate", group, "-md"),
                }},
            }),
        ),
        object(
            infrastructure,
            "Metal3MachineTemplate",
            "-md",
            json!({"template": {"spec": {"image": image}}}),
        ),
        object(
            "bootstrap.cluster.x-k8s.io/v1beta2",
            "KubeadmConfigTemplate",
            "-md",
            json!({
                "template": {"spec": {"joinConfiguration": node}},
            }),
        ),
    ]
}
