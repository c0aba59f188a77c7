//! The objects that an installation creates.

use anyhow::Result;
use serde_json::{Value, json};

use crate::controllers::Selection;
use crate::image::USER;
use crate::leader_election::LEASE;
use crate::providers;

/// The namespace of the controllers.
pub const NAMESPACE: &str = "firstlight-system";
/// The name of all objects of the controllers.
const NAME: &str = "firstlight-controllers";
/// The ports of upstream's managers.
const HEALTH_PORT: u16 = 9440;
const METRICS_PORT: u16 = 8443;
const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns the objects that other controllers may use, too: kinds, and clusterctl's inventory.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn shared() -> Result<Vec<Value>> {
    let mut objects = schemas::crds()?;
    objects.retain(|definition| !is_bare_metal(definition));
    let installed = controllers();
    objects.extend(providers::namespaces(&installed));
    objects.extend(providers::entries(&installed));
    Ok(objects)
}

/// Returns the controllers that are installed.
fn controllers() -> Selection {
    Selection::all().without("metal")
}

/// Returns whether a definition belongs to bare metal. Machines are booted where their network is, so these kinds stay with the server that
/// serves it, or come with Metal3's own providers.
fn is_bare_metal(definition: &Value) -> bool {
    let group = &definition["spec"]["group"];
    let provider = &definition["metadata"]["labels"]["cluster.x-k8s.io/provider"];
    group == "metal3.io"
        || group == "ipam.metal3.io"
        || group == "netboot.firstlight.dev"
        || provider == "infrastructure-metal3"
}

/// Returns the objects that belong only to the controllers.
pub fn owned(image: &str) -> Vec<Value> {
    let name = json!({"name": NAME, "labels": labels()});
    let namespaced = json!({"name": NAME, "namespace": NAMESPACE, "labels": labels()});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels()}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": namespaced}),
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": name, "rules": rules()}),
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        }),
        leader_election_role(),
        leader_election_binding(),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": namespaced,
            "spec": {
                "replicas": 1,
                // The process that is replaced may be of a version that acts without a Lease. It gives its Lease back when it ends.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels()},
                "template": {"metadata": {"labels": labels()}, "spec": pod(image)},
            },
        }),
    ]
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

/// Returns the permissions of the controllers. The kinds of other providers are in the groups of their provider type.
fn rules() -> Value {
    let all = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let groups = ["addons", "bootstrap", "controlplane", "infrastructure", "ipam", "runtime"]
        .map(|group| format!("{group}.cluster.x-k8s.io"));
    let groups: Vec<String> = ["cluster.x-k8s.io".to_owned()].into_iter().chain(groups).collect();
    json!([
        {"apiGroups": groups, "resources": ["*"], "verbs": all},
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": all},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        // The checks of the clients that read /metrics.
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list", "watch"]},
    ])
}

/// Returns the permissions for leader election: one Lease, and its creation, which cannot be limited to a name.
fn leader_election_role() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": {"name": LEASE, "namespace": NAMESPACE, "labels": labels()},
        "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [LEASE], "verbs": ["get", "update"]},
        ],
    })
}

fn leader_election_binding() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": {"name": LEASE, "namespace": NAMESPACE, "labels": labels()},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": LEASE},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    })
}

fn pod(image: &str) -> Value {
    json!({
        "serviceAccountName": NAME,
        "containers": [{
            "name": "controllers",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "args": [
                "controllers",
                format!("--controllers={}", controllers()),
                "--leader-elect",
                format!("--health-addr=:{HEALTH_PORT}"),
                format!("--diagnostics-address=:{METRICS_PORT}"),
            ],
            "ports": [
                {"name": "healthz", "containerPort": HEALTH_PORT, "protocol": "TCP"},
                {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
            ],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "healthz"}},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "healthz"}},
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
        }],
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_controllers_use_is_in_a_group_of_the_role() {
        let rules = rules();
        let groups = rules[0]["apiGroups"].as_array().unwrap();
        for definition in
            shared().unwrap().iter().filter(|object| object["kind"] == "CustomResourceDefinition")
        {
            let group = &definition["spec"]["group"];
            assert!(groups.contains(group) || group == "clusterctl.cluster.x-k8s.io", "{group}");
        }
    }

    #[test]
    fn kinds_of_bare_metal_are_not_installed() {
        let objects = shared().unwrap();
        let names: Vec<&str> =
            objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"devmachines.infrastructure.cluster.x-k8s.io"), "{names:?}");
        assert!(names.iter().all(|name| !name.contains("metal3") && !name.contains("netboot")), "{names:?}");
    }

    #[test]
    fn what_is_namespaced_is_where_its_namespace_is_made_first() {
        let objects: Vec<Value> = shared().unwrap().into_iter().chain(owned("image:v1")).collect();
        let mut namespaces = Vec::new();
        for object in &objects {
            if object["kind"] == "Namespace" {
                namespaces.push(&object["metadata"]["name"]);
            }
            let namespace = &object["metadata"]["namespace"];
            assert!(namespace.is_null() || namespaces.contains(&namespace), "{object}");
        }
        assert_eq!(objects.last().unwrap()["spec"]["template"]["spec"]["containers"][0]["image"], "image:v1");
    }
}
