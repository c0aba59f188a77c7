//! Moves objects to a namespace, with all references in them that name the namespace.

use serde_json::Value;

use super::typed;
use crate::{Error, Result};

/// Kinds that have no namespace.
const CLUSTER_SCOPED: [&str; 16] = [
    "Namespace",
    "Node",
    "PersistentVolume",
    "PodSecurityPolicy",
    "CertificateSigningRequest",
    "ClusterRoleBinding",
    "ClusterRole",
    "VolumeAttachment",
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "CustomResourceDefinition",
    "PriorityClass",
    "RuntimeClass",
];

const INJECT: &str = "cert-manager.io/inject-ca-from";

/// Whether objects of a kind have no namespace, as clusterctl knows it.
pub(crate) fn is_cluster_scoped(kind: &str) -> bool {
    CLUSTER_SCOPED.contains(&kind)
}

/// Moves all objects to `namespace`.
///
/// # Errors
/// An annotation of cert-manager is not of the form `namespace/name`.
pub(crate) fn set_namespace(objects: &mut [Value], namespace: &str) -> Result<()> {
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let original = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        if kind == "Namespace" {
            object["metadata"]["name"] = namespace.into();
        }
        if !is_cluster_scoped(&kind) {
            object["metadata"]["namespace"] = namespace.into();
        }
        match kind.as_str() {
            "ClusterRoleBinding" | "RoleBinding" => {
                for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten()
                {
                    replace(subject, "namespace", namespace);
                }
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                injected(object, &kind, namespace)?;
                for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten()
                {
                    if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
                        service["namespace"] = namespace.into();
                    }
                }
            }
            "CustomResourceDefinition" => {
                injected(object, &kind, namespace)?;
                if let Some(service) = object.pointer_mut("/spec/conversion/webhook/clientConfig/service") {
                    service["namespace"] = namespace.into();
                }
                typed::definition(object);
            }
            "Certificate" => {
                let names = object.pointer_mut("/spec/dnsNames").and_then(Value::as_array_mut);
                for name in names.into_iter().flatten() {
                    let text = name.as_str().unwrap_or_default();
                    *name = text.replacen(&format!(".{original}."), &format!(".{namespace}."), 1).into();
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Replaces the text of a field, unless it is missing or empty.
fn replace(object: &mut Value, field: &str, text: &str) {
    if let Some(value) =
        object.get_mut(field).filter(|value| value.as_str().is_some_and(|old| !old.is_empty()))
    {
        *value = text.into();
    }
}

/// Changes the annotation that names the certificate whose authority cert-manager writes into the object.
fn injected(object: &mut Value, kind: &str, namespace: &str) -> Result<()> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let Some(place) = object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(INJECT)) else {
        return Ok(());
    };
    let parts: Vec<&str> = place.as_str().unwrap_or_default().split('/').collect();
    let [_, certificate] = parts.as_slice() else {
        return Err(Error::invalid(format!(
            "object {kind} {name} does not have a correct value for {INJECT}"
        )));
    };
    *place = format!("{namespace}/{certificate}").into();
    Ok(())
}
