//! The objects of a simulated machine in its workload cluster: its Node, its static Pods, kubeadm's objects.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use k8s_openapi::ByteString;
use machinery::clock::rfc3339;
use serde_json::{Value, json};

use super::symptoms::NodeHealth;
use crate::names::{ETCD_CLUSTER_ID, ETCD_LEADER_FROM, ETCD_MEMBER_ID, KUBE_SYSTEM, NODE_CONTROL_PLANE};

/// The repository of Kubernetes' images.
const REGISTRY: &str = "registry.k8s.io";
/// The replicas of CoreDNS.
const COREDNS_REPLICAS: u32 = 2;
/// The tag of etcd's image without another one in kubeadm's configuration.
const ETCD_TAG: &str = "3.6.5-0";

/// A machine's identity within its workload cluster.
#[derive(Debug, Clone)]
pub struct Host {
    /// Name of the DevMachine and of the Node.
    pub name: String,
    /// Kubernetes version, for example `v1.35.0`.
    pub version: String,
    /// Whether the machine belongs to the control plane.
    pub control_plane: bool,
    /// ID of the machine's etcd member.
    pub member_id: u64,
    /// ID of the etcd cluster.
    pub cluster_id: u64,
    /// Provider ID of the Node; `None` if the kubelet does not know it.
    pub provider_id: Option<String>,
    /// Labels that the kubelet sets on the Node.
    pub labels: BTreeMap<String, String>,
    /// Names of the API server in its certificate, besides loopback.
    pub addresses: Vec<String>,
    /// The URL of the cluster's API server, which joining machines read in `cluster-info`; `None` if it is not known.
    pub endpoint: Option<String>,
}

/// Returns the machine's Node, which is ready.
pub fn node(host: &Host, now: DateTime<Utc>) -> Value {
    let mut labels = json!({"kubernetes.io/hostname": host.name, "kubernetes.io/os": "linux"});
    for (key, value) in &host.labels {
        labels[key.as_str()] = value.as_str().into();
    }
    let mut spec = json!({});
    if let Some(id) = &host.provider_id {
        spec["providerID"] = id.as_str().into();
    }
    if host.control_plane {
        labels[NODE_CONTROL_PLANE] = "".into();
        spec["taints"] = json!([{"key": NODE_CONTROL_PLANE, "effect": "NoSchedule"}]);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": host.name, "labels": labels},
        "spec": spec,
        "status": {
            "conditions": NodeHealth::Ready.conditions_of(&[], now),
            "nodeInfo": {"kubeletVersion": host.version, "kubeProxyVersion": "", "operatingSystem": "linux",
                         "architecture": "amd64", "osImage": "simulated", "kernelVersion": "simulated",
                         "containerRuntimeVersion": "simulated://1.0.0", "machineID": "", "systemUUID": "", "bootID": ""},
            "addresses": [{"type": "Hostname", "address": host.name}, {"type": "InternalDNS", "address": host.name}],
        },
    })
}

/// Returns the provider ID of the machine.
pub fn provider_id(name: &str) -> String {
    format!("in-memory://{name}")
}

/// Returns a running static Pod of the control plane. `component` is `etcd`, `kube-apiserver` and so on.
pub fn static_pod(host: &Host, component: &str, image: &str, now: DateTime<Utc>) -> Value {
    let time = rfc3339(now);
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": KUBE_SYSTEM,
            "name": format!("{component}-{}", host.name),
            "labels": {"component": component, "tier": "control-plane"},
            // A mirror Pod of a kubelet's static Pod, which a drain does not evict.
            "annotations": {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": host.name},
        },
        "spec": {"nodeName": host.name, "containers": [{"name": component, "image": image}]},
        "status": {
            "phase": "Running",
            "startTime": time,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}],
            "containerStatuses": [{"name": component, "image": image, "imageID": "",
                                   "ready": true, "started": true, "restartCount": 0,
                                   "state": {"running": {"startedAt": time}}}],
        },
    });
    if component == "etcd" {
        pod["metadata"]["annotations"][ETCD_CLUSTER_ID] = host.cluster_id.to_string().into();
        pod["metadata"]["annotations"][ETCD_MEMBER_ID] = host.member_id.to_string().into();
    }
    pod
}

/// Marks the etcd Pod as the leader since `now`.
pub fn lead_from(pod: &mut Value, now: DateTime<Utc>) {
    pod["metadata"]["annotations"][ETCD_LEADER_FROM] = machinery::clock::rfc3339_micro(now).into();
}

/// Returns the image of a component whose version is that of Kubernetes.
pub fn image(component: &str, version: &str) -> String {
    format!("{REGISTRY}/{component}:{}", version.replace('+', "_"))
}

/// Returns etcd's image as kubeadm takes it from its configuration, which the ConfigMap `kubeadm-config` holds.
pub fn etcd_image(config_map: &Value) -> String {
    let text = config_map["data"]["ClusterConfiguration"].as_str().unwrap_or_default();
    let configuration =
        machinery::decode::yaml(text.as_bytes()).map(|decoded| decoded.value).unwrap_or_default();
    let local = &configuration["etcd"]["local"];
    let given = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let repository = given(&local["imageRepository"]).or_else(|| given(&configuration["imageRepository"]));
    let repository = repository.unwrap_or_else(|| REGISTRY.to_owned());
    format!("{repository}/etcd:{}", given(&local["imageTag"]).unwrap_or_else(|| ETCD_TAG.to_owned()))
}

/// Returns what `kubeadm init` publishes for machines that join: where the API server is, and whom to trust.
pub fn cluster_info(endpoint: &str, authority: &str) -> Value {
    let cluster =
        json!({"certificate-authority-data": ByteString(authority.as_bytes().to_vec()), "server": endpoint});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}],
                            "contexts": null, "current-context": "", "preferences": {}, "users": null});
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"namespace": "kube-public", "name": "cluster-info"},
           "data": {"kubeconfig": kubeconfig.to_string()}})
}

/// Returns the objects that `kubeadm init` creates in the cluster.
pub fn kubeadm_objects(version: &str) -> Vec<Value> {
    let group = "system:bootstrappers:kubeadm:default-node-token";
    let container = |name: &str, image: String| json!({"containers": [{"name": name, "image": image}]});
    let template = |name: &str, spec: Value| {
        json!({"selector": {"matchLabels": {"k8s-app": name}},
               "template": {"metadata": {"labels": {"k8s-app": name}}, "spec": spec}})
    };
    let linux = json!({"kubernetes.io/os": "linux"});
    let mut coredns = container("coredns", "registry.k8s.io/coredns/coredns:v1.10.1".to_owned());
    coredns["volumes"] = json!([{"name": "config-volume", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}]);
    coredns["nodeSelector"] = linux.clone();
    coredns["tolerations"] = json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}, {"key": NODE_CONTROL_PLANE, "effect": "NoSchedule"}]);
    let mut coredns = template("kube-dns", coredns);
    coredns["replicas"] = COREDNS_REPLICAS.into();
    coredns["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
    let mut proxy = container("kube-proxy", image("kube-proxy", version));
    proxy["nodeSelector"] = linux;
    proxy["tolerations"] = json!([{"operator": "Exists"}]);
    proxy["hostNetwork"] = true.into();
    vec![
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
               "metadata": {"name": "kubeadm:get-nodes"},
               "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": "kubeadm:get-nodes"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubeadm:get-nodes"},
               "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}]}),
        json!({"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"namespace": KUBE_SYSTEM, "name": "kubeadm-config"},
               "data": {"ClusterConfiguration": ""}}),
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
               "metadata": {"namespace": KUBE_SYSTEM, "name": "kube-proxy", "labels": {"k8s-app": "kube-proxy"}},
               "spec": template("kube-proxy", proxy)}),
        json!({"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"namespace": KUBE_SYSTEM, "name": "coredns"},
               "data": {"Corefile": ".:53 {\n    errors\n    health\n    ready\n}\n"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "metadata": {"namespace": KUBE_SYSTEM, "name": "coredns", "labels": {"k8s-app": "kube-dns"}},
               "spec": coredns}),
    ]
}
