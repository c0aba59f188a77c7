// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: class patch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change to templates of the class that depends on variables. Either definitions or external.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassPatch {
    /// Changes written here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<PatchDefinition>,
    /// What the patch is for, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Go template over the variables: the patch is used where the result is true. Unset: always.
    #[serde(rename = "enabledIf", skip_serializing_if = "Option::is_none")]
    pub enabled_if: Option<String>,
    /// Changes that a runtime extension works out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPatchDefinition>,
    /// Name of the patch, unique in the class.
    pub name: String,
}

/// A patch that a runtime extension works out.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExternalPatchDefinition {
    /// Handler that says which variables the patch understands.
    #[serde(rename = "discoverVariablesExtension", skip_serializing_if = "Option::is_none")]
    pub discover_variables_extension: Option<String>,
    /// Handler that makes the patches.
    #[serde(rename = "generatePatchesExtension", skip_serializing_if = "Option::is_none")]
    pub generate_patches_extension: Option<String>,
    /// Settings that go with each call. They win over those of the ExtensionConfig.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Handler that checks the patched templates.
    #[serde(rename = "validateTopologyExtension", skip_serializing_if = "Option::is_none")]
    pub validate_topology_extension: Option<String>,
}

/// One JSON patch operation on a template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct JsonPatch {
    /// add, replace or remove.
    pub op: String,
    /// JSON pointer of the field, which begins with /spec. Elements can be added to a list only at its end
    /// (/-) or at its beginning (/0).
    pub path: String,
    /// The value, in JSON. Not together with valueFrom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Where the value comes from. Not together with value.
    #[serde(rename = "valueFrom", skip_serializing_if = "Option::is_none")]
    pub value_from: Option<JsonPatchValue>,
}

/// A value that is worked out for each Cluster. Either variable or template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct JsonPatchValue {
    /// Go template over the variables whose result is read as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Name of a variable, of its field such as proxy.url, or of a builtin such as builtin.cluster.name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// Operations on the templates that are selected.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PatchDefinition {
    /// The operations, in order.
    #[serde(rename = "jsonPatches")]
    pub json_patches: Vec<JsonPatch>,
    /// Which templates.
    pub selector: PatchSelector,
}

/// Which templates a patch changes: all three must fit.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PatchSelector {
    /// API version of the template.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// Kind of the template.
    pub kind: String,
    /// For which part of the cluster it is used.
    #[serde(rename = "matchResources")]
    pub match_resources: PatchSelectorMatch,
}

/// For which part of the cluster a template is used. At least one must be set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PatchSelectorMatch {
    /// The templates of the control plane and of its machines.
    #[serde(rename = "controlPlane", skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// The template of the cluster's infrastructure.
    #[serde(rename = "infrastructureCluster", skip_serializing_if = "Option::is_none")]
    pub infrastructure_cluster: Option<bool>,
    /// Templates of MachineDeployment classes.
    #[serde(rename = "machineDeploymentClass", skip_serializing_if = "Option::is_none")]
    pub machine_deployment_class: Option<PatchSelectorMatchClass>,
    /// Templates of MachinePool classes.
    #[serde(rename = "machinePoolClass", skip_serializing_if = "Option::is_none")]
    pub machine_pool_class: Option<PatchSelectorMatchClass>,
}

/// Worker classes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PatchSelectorMatchClass {
    /// Names of classes. One * may stand at the beginning or the end of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}
