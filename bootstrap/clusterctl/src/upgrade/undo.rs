//! What a provider was before its upgrade, to which it returns if the upgrade fails.

use serde_json::Value;

use crate::install::{Objects, Tools};
use crate::inventory::Installed;
use crate::removal::{self, Component, Removal};
use crate::{Error, Result};

/// The objects of a provider before its upgrade.
pub(super) struct Before {
    provider: Installed,
    objects: Vec<Value>,
}

/// The fields of an object's metadata that a server sets.
const SET_BY_SERVER: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

impl Before {
    /// Reads the objects of a provider.
    ///
    /// # Errors
    /// The cluster refuses or does not answer.
    pub(super) async fn read(provider: &Installed, tools: &Tools<'_>) -> Result<Self> {
        let mut all = removal::components(tools.client, provider).await?;
        // What a controller has made, it makes again.
        all.retain(|component| component.object.metadata.owner_references.iter().flatten().next().is_none());
        all.sort_by_key(|component| rank(&component.resource.kind));
        let objects = all.iter().map(stripped).collect::<Result<_>>()?;
        Ok(Self { provider: provider.clone(), objects })
    }

    /// Removes the new objects of the provider, and creates the old ones. A definition that the cluster does not take back stays as it is:
    /// objects may already be stored in its new version, and the next upgrade needs it again.
    ///
    /// # Errors
    /// The cluster refuses another object.
    pub(super) async fn restore(&self, tools: &Tools<'_>) -> Result<()> {
        removal::delete(tools.client, &self.provider, Removal::default()).await?;
        let objects = Objects::new(tools);
        for object in &self.objects {
            match objects.apply(object).await {
                Err(error) if object["kind"] == "CustomResourceDefinition" => {
                    (tools.say)(&format!("Keeping a definition of the new version: {error}"));
                }
                applied => applied?,
            }
        }
        Ok(())
    }
}

/// The order in which objects are created again.
fn rank(kind: &str) -> u8 {
    match kind {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "Deployment" | "Provider" => 3,
        _ => 2,
    }
}

/// The object as somebody would create it.
fn stripped(component: &Component) -> Result<Value> {
    let object = serde_json::to_value(&component.object);
    let mut object = object.map_err(|error| Error::invalid(error.to_string()))?;
    object["apiVersion"] = component.resource.api_version.clone().into();
    object["kind"] = component.resource.kind.clone().into();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        SET_BY_SERVER.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    Ok(object)
}
