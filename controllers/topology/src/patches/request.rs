//! Requests and answers of the hooks of topology mutation: `hooks.runtime.cluster.x-k8s.io/v1alpha1`.
//!
//! `apiVersion`, `kind` and `settings` of a request are added by whoever sends it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All templates of a Cluster, with the variables that a patch can use.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct GeneratePatchesRequest {
    /// Variables for all templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// The templates.
    pub items: Vec<GeneratePatchesItem>,
}

/// A template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct GeneratePatchesItem {
    /// Identifies the template in the answer.
    pub uid: String,
    /// What uses the template.
    #[serde(rename = "holderReference")]
    pub holder_reference: HolderReference,
    /// The template, as the patches before left it.
    pub object: Value,
    /// Variables for this template. They win over those for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
}

/// The object that uses a template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct HolderReference {
    /// Its API version.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The field in which it refers to what is made from the template.
    #[serde(rename = "fieldPath")]
    pub field_path: String,
}

/// A variable.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The patches that an extension answers.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct GeneratePatchesResponse {
    /// The patches, applied in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<PatchItem>,
}

/// A patch for one template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PatchItem {
    /// The template.
    pub uid: String,
    /// `JSONPatch` or `JSONMergePatch`.
    #[serde(rename = "patchType")]
    pub patch_type: String,
    /// The patch in JSON, in base64.
    pub patch: String,
}

/// All templates of a Cluster after all patches.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ValidateTopologyRequest {
    /// Variables for all templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// The templates.
    pub items: Vec<ValidateTopologyItem>,
}

/// A template after all patches.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ValidateTopologyItem {
    /// What uses the template.
    #[serde(rename = "holderReference")]
    pub holder_reference: HolderReference,
    /// The template.
    pub object: Value,
    /// Variables for this template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
}

impl From<&GeneratePatchesRequest> for ValidateTopologyRequest {
    fn from(request: &GeneratePatchesRequest) -> Self {
        let item = |item: &GeneratePatchesItem| ValidateTopologyItem {
            holder_reference: item.holder_reference.clone(),
            object: item.object.clone(),
            variables: item.variables.clone(),
        };
        Self { variables: request.variables.clone(), items: request.items.iter().map(item).collect() }
    }
}
