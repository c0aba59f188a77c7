//! Images of Deployments and DaemonSets.

use serde_json::Value;

use super::typed;
use crate::configuration::Images;
use crate::{Context, Result};

const CONTAINERS: [(&str, &str); 2] = [("containers", "containers"), ("initContainers", "init containers")];

fn runs_pods(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("Deployment" | "DaemonSet"))
}

/// Every image that the objects run; for each object, containers come before init containers.
pub(crate) fn images(objects: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for object in objects.iter().filter(|object| runs_pods(object)) {
        for (field, _) in CONTAINERS {
            let containers = object["spec"]["template"]["spec"][field].as_array();
            let images = containers.into_iter().flatten().map(|container| &container["image"]);
            found.extend(images.map(|image| image.as_str().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// Changes the images according to the configuration.
///
/// # Errors
/// An image has no registry.
pub(crate) fn alter_images(objects: &mut [Value], images: &Images, component: &str) -> Result<()> {
    for object in objects.iter_mut().filter(|object| runs_pods(object)) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let kind = if object["kind"] == "Deployment" { "deployment" } else { "deamonSet" };
        for (field, words) in CONTAINERS {
            let Some(containers) =
                object["spec"]["template"]["spec"].get_mut(field).and_then(Value::as_array_mut)
            else {
                continue;
            };
            alter(containers, images, component)
                .context(|| format!("failed to fix containers in {kind} {name}: failed to fix {words}"))?;
        }
        typed::workload(object);
    }
    Ok(())
}

fn alter(containers: &mut [Value], images: &Images, component: &str) -> Result<()> {
    for container in containers {
        let image = container["image"].as_str().unwrap_or_default().to_owned();
        let name = container["name"].as_str().unwrap_or_default().to_owned();
        let altered = images.altered(component, &image);
        container["image"] = altered.context(|| format!("failed to fix image for container {name}"))?.into();
    }
    Ok(())
}
