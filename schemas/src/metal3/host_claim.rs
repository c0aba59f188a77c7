// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: host claim.

use std::collections::BTreeMap;

use crate::meta::Condition;
use crate::meta::ObjectReference;
use crate::metal3::CustomDeploy;
use crate::metal3::Image;
use crate::metal3::SecretReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A request for a BareMetalHost, which can be in another namespace.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaim {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a HostClaim.
    pub spec: HostClaimSpec,
    /// Observed state of a HostClaim.
    pub status: Option<HostClaimStatus>,
}

crate::kind!(
    HostClaim,
    "metal3.io",
    "v1alpha1",
    "hostclaims",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(HostClaim);

/// A rule that says which HostClaims of other namespaces can use the BareMetalHosts of this namespace.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostDeployPolicy {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a HostDeployPolicy.
    pub spec: HostDeployPolicySpec,
    /// Observed state of a HostDeployPolicy. It has no fields.
    pub status: Option<HostDeployPolicyStatus>,
}

crate::kind!(
    HostDeployPolicy,
    "metal3.io",
    "v1alpha1",
    "hostdeploypolicies",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Selects namespaces of HostClaims.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimNamespaces {
    /// Labels of the namespaces.
    #[serde(rename = "hasLabels", skip_serializing_if = "Vec::is_empty")]
    pub has_labels: Vec<HostDeployPolicyLabel>,
    /// Regular expression for the names of the namespaces.
    #[serde(rename = "nameMatches", skip_serializing_if = "Option::is_none")]
    pub name_matches: Option<String>,
    /// Names of the namespaces. Unset: any name. Empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// A reference to an object in any namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimObjectReference {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object.
    pub namespace: String,
}

/// Selects BareMetalHosts by their namespace and labels. A host must meet all requirements.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimSelector {
    /// Namespace of the host.
    #[serde(rename = "inNamespace", skip_serializing_if = "Option::is_none")]
    pub in_namespace: Option<String>,
    /// Requirements on labels.
    #[serde(rename = "matchExpressions", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<HostClaimSelectorRequirement>,
    /// Labels and the values that they must have.
    #[serde(rename = "matchLabels", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// A requirement on one label of a BareMetalHost.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimSelectorRequirement {
    /// Key of the label.
    pub key: String,
    /// Operator, for example In, NotIn or Exists.
    pub operator: String,
    /// Values to which the operator compares the value of the label.
    pub values: Vec<String>,
}

/// Desired state of a HostClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimSpec {
    /// Object that uses the host.
    #[serde(rename = "consumerRef", skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// Deploy method that replaces the writing of an image.
    #[serde(rename = "customDeploy", skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Preferred failure domain of the host.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Selects the hosts that can be used.
    #[serde(rename = "hostSelector", skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostClaimSelector>,
    /// Image that is written to the root disk of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Secret with the metadata of the host.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// Secret with the network data of the host.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// Whether the host is switched on.
    #[serde(rename = "poweredOn")]
    pub powered_on: bool,
    /// Secret with the user data of the host.
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

/// Observed state of a HostClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostClaimStatus {
    /// BareMetalHost that is associated with the claim.
    #[serde(rename = "bareMetalHost", skip_serializing_if = "Option::is_none")]
    pub bare_metal_host: Option<HostClaimObjectReference>,
    /// Observations of the state of the object. Each aspect has one entry with a status, a reason and a
    /// message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// HardwareData of the associated host.
    #[serde(rename = "hardwareData", skip_serializing_if = "Option::is_none")]
    pub hardware_data: Option<HostClaimObjectReference>,
    /// Time of the last change of the status.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// Whether the host is switched on.
    #[serde(rename = "poweredOn", skip_serializing_if = "Option::is_none")]
    pub powered_on: Option<bool>,
}

/// A label that a namespace must have.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostDeployPolicyLabel {
    /// Key of the label.
    pub name: String,
    /// Value of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Desired state of a HostDeployPolicy.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostDeployPolicySpec {
    /// Namespaces whose HostClaims can use the hosts.
    #[serde(rename = "hostClaimNamespaces", skip_serializing_if = "Option::is_none")]
    pub host_claim_namespaces: Option<HostClaimNamespaces>,
}

/// Observed state of a HostDeployPolicy. It has no fields.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostDeployPolicyStatus {}
