//! The objects with which the API server of a cluster calls the webhooks of the controllers.

use anyhow::Result;
use serde_json::{Value, json};
use server::installed::NAMESPACE;
use server::names::WEBHOOKS;
use server::webhooks::{CONFIGURATION, SERVICE, conversion, needs};

/// The port of the webhooks, that of upstream's managers.
pub const PORT: u16 = 9443;
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns the definitions of all kinds, for whose objects the webhooks are called. The webhooks convert those whose versions differ.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn definitions() -> Result<Vec<Value>> {
    let mut definitions = schemas::crds()?;
    for definition in &mut definitions {
        definition["metadata"]["annotations"][WEBHOOKS] = NAMESPACE.into();
        if needs(definition).conversion {
            definition["spec"]["conversion"] = conversion(NAMESPACE);
        }
    }
    Ok(definitions)
}

/// Returns the Service, the webhook configurations, and the permissions of `account` to register the webhooks. The configurations are empty:
/// the process that leads fills them when it serves the webhooks, so that no write waits for webhooks that do not run yet.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn objects(account: &str, labels: &Value) -> Result<Vec<Value>> {
    let name = json!({"name": SERVICE, "labels": labels});
    let configuration = |kind: &str| json!({"apiVersion": format!("{ADMISSION}/v1"), "kind": kind, "metadata": {"name": CONFIGURATION, "labels": labels}});
    Ok(vec![
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE, "labels": labels},
            "spec": {"selector": labels, "ports": [{"name": "webhooks", "port": 443, "targetPort": "webhooks", "protocol": "TCP"}]},
        }),
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": name, "rules": rules()?}),
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": SERVICE},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
        }),
        configuration("MutatingWebhookConfiguration"),
        configuration("ValidatingWebhookConfiguration"),
    ])
}

/// Returns the permissions: changes of exactly the objects in which the webhooks are registered.
fn rules() -> Result<Value> {
    let definitions = schemas::crds()?;
    let converted = definitions.iter().filter(|definition| needs(definition).conversion);
    let converted: Vec<&Value> = converted.map(|definition| &definition["metadata"]["name"]).collect();
    Ok(json!([
        {
            "apiGroups": [ADMISSION],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "resourceNames": [CONFIGURATION],
            "verbs": ["get", "patch"],
        },
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": converted,
            "verbs": ["get", "patch"],
        },
    ]))
}
