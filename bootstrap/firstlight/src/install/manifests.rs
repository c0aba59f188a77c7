//! The objects that an installation creates.

use anyhow::Result;
use clusterctl::built_in;
use serde_json::{Value, json};
use server::controllers::Selection;
use server::image::USER;
use server::installed::{NAME, NAMESPACE};
use server::leader_election::LEASE;
use server::providers;

use super::bare_metal::Installation;
use super::webhooks;

/// The ports of upstream's managers.
const HEALTH_PORT: u16 = 9440;
const METRICS_PORT: u16 = 8443;
/// The port of metrics on the network of a node, where [`METRICS_PORT`] is that of the services that boot machines.
const METRICS_PORT_ON_NODE: u16 = 9441;
/// The kinds of the Cluster API Operator: a cluster whose own operator reconciles them has them already.
const OPERATOR: &str = "operator.cluster.x-k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns the objects that other controllers may use, too: kinds, and clusterctl's inventory. Those of bare metal are only there
/// `with_bare_metal`.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn shared(installed: &Selection, with_bare_metal: bool) -> Result<Vec<Value>> {
    let mut objects = webhooks::definitions()?;
    objects.retain(|definition| {
        definition["spec"]["group"] != OPERATOR && (with_bare_metal || !is_bare_metal(definition))
    });
    objects.extend(providers::namespaces(installed));
    objects.extend(providers::entries(installed));
    objects.push(built_in::config_map(&installed.providers()));
    Ok(objects)
}

/// Returns the controllers that are installed for a source that runs `source`. Others could take objects for theirs that another provider
/// manages at the source and, after the pivot, at the target.
pub fn carried_over(source: Selection, with_bare_metal: bool) -> Selection {
    // Nodes are on the source's machine, and a Pod has no access to it.
    let carried = source.without("pods").without("operator").without("containers");
    if with_bare_metal { carried } else { carried.without("metal") }
}

/// Returns whether a definition belongs to bare metal. Unless the services that boot machines are installed, too, these kinds stay with the
/// server that has them, or come with Metal3's own providers.
fn is_bare_metal(definition: &Value) -> bool {
    let group = &definition["spec"]["group"];
    let provider = &definition["metadata"]["labels"]["cluster.x-k8s.io/provider"];
    group == "metal3.io"
        || group == "ipam.metal3.io"
        || group == "netboot.firstlight.dev"
        || provider == "infrastructure-metal3"
}

/// Returns the objects that belong only to the controllers, with the services that boot machines if they are given.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn owned(image: &str, installed: &Selection, bare_metal: Option<&Installation>) -> Result<Vec<Value>> {
    let name = json!({"name": NAME, "labels": labels()});
    let namespaced = json!({"name": NAME, "namespace": NAMESPACE, "labels": labels()});
    let mut pod = pod(image, installed, bare_metal.is_some());
    let mut namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels()},
    });
    let mut secret = None;
    if let Some(installation) = bare_metal {
        installation.extend(&mut pod);
        // The network of a node is only for Pods with all privileges.
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged".into();
        secret = Some(installation.secret());
    }
    let mut objects = vec![namespace];
    objects.extend(secret);
    objects.extend([
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
    ]);
    objects.extend(webhooks::objects(NAME, &labels())?);
    objects.push(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": namespaced,
        "spec": {
            "replicas": 1,
            // The process that is replaced may be of a version that acts without a Lease. It gives its Lease back when it ends.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels()},
            "template": {"metadata": {"labels": labels()}, "spec": pod},
        },
    }));
    Ok(objects)
}

pub(super) fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

/// Returns the permissions of the controllers. The kinds of other providers are in the groups of their provider type.
pub fn rules() -> Value {
    let all = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let groups = ["addons", "bootstrap", "controlplane", "infrastructure", "ipam", "runtime"]
        .map(|group| format!("{group}.cluster.x-k8s.io"));
    let others =
        ["cluster.x-k8s.io", "metal3.io", "ipam.metal3.io", "netboot.firstlight.dev"].map(str::to_owned);
    let groups: Vec<String> = others.into_iter().chain(groups).collect();
    json!([
        {"apiGroups": groups, "resources": ["*"], "verbs": all},
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": all},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        // The checks of the clients that read /metrics.
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list", "watch"]},
        // The CRD migrator.
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions", "customresourcedefinitions/status"],
            "resourceNames": cluster_core::crd_migrator::names(),
            "verbs": ["patch"],
        },
        // Whether a provider is installed that has kinds of these controllers, too.
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]},
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

fn pod(image: &str, installed: &Selection, with_bare_metal: bool) -> Value {
    let metrics_port = if with_bare_metal { METRICS_PORT_ON_NODE } else { METRICS_PORT };
    json!({
        "serviceAccountName": NAME,
        "containers": [{
            "name": "controllers",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "args": [
                "controllers",
                format!("--controllers={installed}"),
                "--leader-elect",
                format!("--health-addr=:{HEALTH_PORT}"),
                format!("--diagnostics-address=:{metrics_port}"),
                format!("--webhook-address=:{}", webhooks::PORT),
            ],
            "ports": [
                {"name": "healthz", "containerPort": HEALTH_PORT, "protocol": "TCP"},
                {"name": "metrics", "containerPort": metrics_port, "protocol": "TCP"},
                {"name": "webhooks", "containerPort": webhooks::PORT, "protocol": "TCP"},
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
