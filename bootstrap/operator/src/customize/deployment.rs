//! Changes of Deployments: `spec.deployment`, `spec.manager` and `spec.additionalDeployments`.

use schemas::operator::{ProviderContainer, ProviderDeployment, ProviderManager, ProviderSpec};
use serde_json::{Value, json};

use super::manager;
use crate::conditions::CUSTOMIZATION_FAILED;
use crate::failure::Failure;

/// The container of a manager, unless a Deployment has only others.
const MANAGER: &str = "manager";
/// The argument that no object sets: providers watch all namespaces, as upstream's operator wants it.
const NAMESPACE: &str = "namespace";

/// Changes all Deployments that the object means.
///
/// # Errors
/// A Deployment has no container for the settings of a manager.
pub(super) fn customize(spec: &ProviderSpec, objects: &mut [Value]) -> Result<(), Failure> {
    let is_deployment = |object: &&mut Value| object["kind"] == "Deployment";
    let is_only = objects.iter().filter(|object| object["kind"] == "Deployment").count() == 1;
    for object in objects.iter_mut().filter(is_deployment) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match spec.additional_deployments.get(&name) {
            Some(own) => change(object, &name, own.deployment.as_ref(), own.manager.as_ref())?,
            None if is_only || is_of_manager(&name) => {
                change(object, &name, spec.deployment.as_ref(), spec.manager.as_ref())?;
            }
            None => {}
        }
    }
    Ok(())
}

/// Whether a Deployment among several is that of the provider itself, by its name (`capz-controller-manager`), as upstream decides it.
fn is_of_manager(name: &str) -> bool {
    name.starts_with("ca") && name.ends_with("-controller-manager")
}

fn change(
    object: &mut Value,
    name: &str,
    deployment: Option<&ProviderDeployment>,
    manager: Option<&ProviderManager>,
) -> Result<(), Failure> {
    if let Some(wanted) = deployment {
        replace(object, wanted);
    }
    // Last, because it takes precedence over arguments.
    if let Some(wanted) = manager {
        let containers = containers(object);
        let place = containers.iter().position(|container| container["name"] == MANAGER).unwrap_or_default();
        let container = containers.get_mut(place).ok_or_else(|| {
            Failure::new(
                CUSTOMIZATION_FAILED,
                format!("the Deployment {name} has no container for spec.manager"),
            )
        })?;
        manager::customize(container, wanted);
    }
    Ok(())
}

fn containers(object: &mut Value) -> &mut [Value] {
    let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    containers.map(Vec::as_mut_slice).unwrap_or_default()
}

/// Replaces the fields that are set.
fn replace(object: &mut Value, wanted: &ProviderDeployment) {
    let spec = &mut object["spec"];
    if let Some(replicas) = wanted.replicas {
        spec["replicas"] = replicas.into();
    }
    let pod = &mut spec["template"]["spec"];
    if let Some(affinity) = &wanted.affinity {
        pod["affinity"] = affinity.clone();
    }
    if !wanted.node_selector.is_empty() {
        pod["nodeSelector"] = json!(wanted.node_selector);
    }
    if !wanted.tolerations.is_empty() {
        pod["tolerations"] = json!(wanted.tolerations);
    }
    if !wanted.image_pull_secrets.is_empty() {
        pod["imagePullSecrets"] = json!(wanted.image_pull_secrets);
    }
    if let Some(account) = wanted.service_account_name.as_ref().filter(|account| !account.is_empty()) {
        pod["serviceAccountName"] = account.clone().into();
    }
    for change in &wanted.containers {
        let named =
            containers(object).iter_mut().filter(|container| container["name"] == change.name.as_str());
        named.for_each(|container| replace_in_container(container, change));
    }
}

fn replace_in_container(container: &mut Value, wanted: &ProviderContainer) {
    for (name, value) in wanted.args.iter().filter(|(name, _)| *name != NAMESPACE) {
        set_argument(container, name, value);
    }
    for variable in &wanted.env {
        let mut all = container["env"].as_array().cloned().unwrap_or_default();
        all.retain(|present| present["name"] != variable["name"]);
        all.push(variable.clone());
        container["env"] = all.into();
    }
    if let Some(resources) = &wanted.resources {
        container["resources"] = resources.clone();
    }
    if let Some(image) = &wanted.image_url {
        container["image"] = image.clone().into();
    }
    if !wanted.command.is_empty() {
        container["command"] = json!(wanted.command);
    }
}

/// Sets an argument `NAME=VALUE`: in its place if it is there, or else at the end.
pub(super) fn set_argument(container: &mut Value, name: &str, value: &str) {
    let mut all = container["args"].as_array().cloned().unwrap_or_default();
    let start = format!("{name}=");
    let text = Value::String(format!("{start}{value}"));
    let is_it =
        |argument: &&mut Value| argument.as_str().is_some_and(|argument| argument.starts_with(&start));
    match all.iter_mut().find(is_it) {
        Some(place) => *place = text,
        None => all.push(text),
    }
    container["args"] = all.into();
}
