// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 machine.

use std::collections::BTreeMap;

use crate::cluster::MachineAddress;
use crate::infrastructure::InfrastructureInitializationStatus;
use crate::meta::Condition;
use crate::meta::ObjectMetaTemplate;
use crate::meta::V1Beta1Condition;
use crate::metal3::SecretReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A machine on bare metal.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3Machine {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a machine on bare metal.
    pub spec: Metal3MachineSpec,
    /// Observed state of a machine on bare metal.
    pub status: Option<Metal3MachineStatus>,
}

crate::kind!(
    Metal3Machine,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3machines",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(Metal3Machine);

/// The template of the Metal3Machines of a control plane or of a MachineDeployment.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3MachineTemplate.
    pub spec: Metal3MachineTemplateSpec,
}

crate::kind!(
    Metal3MachineTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3machinetemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Selects BareMetalHosts by their labels. A host must meet all requirements.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostSelector {
    /// Requirements on labels.
    #[serde(rename = "matchExpressions", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<HostSelectorRequirement>,
    /// Labels and the values that they must have.
    #[serde(rename = "matchLabels", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// A requirement on one label of a BareMetalHost.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostSelectorRequirement {
    /// Key of the label.
    pub key: String,
    /// Operator, for example In, NotIn or Exists. Upper and lower case are equivalent.
    pub operator: String,
    /// Values to which the operator compares the value of the label.
    pub values: Vec<String>,
}

/// A custom deploy method of the agent.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3CustomDeploy {
    /// Name of the deploy method.
    pub method: String,
}

/// An operating system image.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3Image {
    /// Checksum of the image, or URL of a file with checksums.
    pub checksum: String,
    /// Algorithm of the checksum.
    #[serde(rename = "checksumType", skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<String>,
    /// Format of the image. A live-iso image is booted and not written to a disk.
    #[serde(rename = "diskFormat", skip_serializing_if = "Option::is_none")]
    pub disk_format: Option<String>,
    /// URL of the image.
    pub url: String,
}

/// Fields of the API version v1beta1, for older clients.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineDeprecatedStatus {
    /// Status fields of the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<Metal3MachineV1Beta1DeprecatedStatus>,
}

/// Desired state of a machine on bare metal.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineSpec {
    /// Whether the disks of the host are cleaned before and after its use: metadata removes partition
    /// tables, disabled skips the cleaning.
    #[serde(rename = "automatedCleaningMode", skip_serializing_if = "Option::is_none")]
    pub automated_cleaning_mode: Option<String>,
    /// Deploy method that replaces the writing of an image.
    #[serde(rename = "customDeploy", skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<Metal3CustomDeploy>,
    /// Metal3DataTemplate from which metadata and network data are rendered.
    #[serde(rename = "dataTemplate", skip_serializing_if = "Option::is_none")]
    pub data_template: Option<Metal3ObjectReference>,
    /// Preferred failure domain of the host. The controller copies it from the Machine.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Selects the BareMetalHosts that can be used. If it is absent, any host can be used.
    #[serde(rename = "hostSelector", skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostSelector>,
    /// Image that is written to the root disk of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Metal3Image>,
    /// Secret with the metadata of the host, for a machine without a data template.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// Secret with the network data of the host, for a machine without a data template.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// Provider ID of the machine, as in spec.providerID of its Node. The controller sets it.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Secret with the user data of the host. The bootstrap data of the Machine take precedence.
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

/// Observed state of a machine on bare metal.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineStatus {
    /// Addresses and names of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Observations of the state of the object. Each aspect has one entry with a status, a reason and a
    /// message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields of the API version v1beta1, for older clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Metal3MachineDeprecatedStatus>,
    /// Progress of the initial provisioning. The values do not change afterwards.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<InfrastructureInitializationStatus>,
    /// Time of the last change of the status.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// Secret with the metadata that the host uses.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// Secret with the network data that the host uses.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// Metal3Data with the data rendered from the data template.
    #[serde(rename = "renderedData", skip_serializing_if = "Option::is_none")]
    pub rendered_data: Option<Metal3ObjectReference>,
    /// Secret with the user data that the host uses.
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

/// A Metal3Machine that is created from a template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineTemplateResource {
    /// Labels and annotations of the created Metal3Machine.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Spec of the created Metal3Machine.
    pub spec: Metal3MachineSpec,
}

/// Desired state of a Metal3MachineTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineTemplateSpec {
    /// Whether a host that is released by an upgrade is reserved for a new machine of the same control
    /// plane or MachineDeployment.
    #[serde(rename = "nodeReuse", skip_serializing_if = "Option::is_none")]
    pub node_reuse: Option<bool>,
    /// Template of the created Metal3Machines.
    pub template: Metal3MachineTemplateResource,
}

/// Status fields of the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3MachineV1Beta1DeprecatedStatus {
    /// Conditions in the format of v1beta1. New clients use status.conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Message of a failure that needs manual intervention. New clients use status.conditions.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Reason, in one word, of a failure that needs manual intervention. New clients use status.conditions.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// A reference to an object of Metal3. The field that contains it determines the kind.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ObjectReference {
    /// Name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the object. The default is the namespace of the referring object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
