// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 data template.

use crate::infrastructure::NetworkData;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A template from which metadata and network data are rendered for each machine.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3DataTemplate.
    pub spec: Metal3DataTemplateSpec,
    /// Observed state of a Metal3DataTemplate.
    pub status: Option<Metal3DataTemplateStatus>,
}

crate::kind!(
    Metal3DataTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3datatemplates",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// A value of the metadata that is allocated from an IP pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FromPool {
    /// API group of the pool.
    #[serde(rename = "apiGroup", skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Key of the value in the metadata.
    pub key: String,
    /// Kind of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the pool.
    pub name: String,
}

/// Rules from which the metadata are rendered. All values are strings.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaData {
    /// DNS servers of IP pools. The addresses are claimed, and the DNS servers are not rendered.
    #[serde(rename = "dnsServersFromPool", skip_serializing_if = "Vec::is_empty")]
    pub dns_servers_from_pool: Vec<FromPool>,
    /// Values from annotations.
    #[serde(rename = "fromAnnotations", skip_serializing_if = "Vec::is_empty")]
    pub from_annotations: Vec<MetaDataFromAnnotation>,
    /// MAC addresses of network interfaces.
    #[serde(rename = "fromHostInterfaces", skip_serializing_if = "Vec::is_empty")]
    pub from_host_interfaces: Vec<MetaDataHostInterface>,
    /// Values from labels.
    #[serde(rename = "fromLabels", skip_serializing_if = "Vec::is_empty")]
    pub from_labels: Vec<MetaDataFromLabel>,
    /// Gateways of IP pools.
    #[serde(rename = "gatewaysFromPool", skip_serializing_if = "Vec::is_empty")]
    pub gateways_from_pool: Vec<FromPool>,
    /// Values that are calculated from the index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<MetaDataIndex>,
    /// Addresses that are allocated from IP pools.
    #[serde(rename = "ipAddressesFromPool", skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses_from_pool: Vec<FromPool>,
    /// Keys with the namespace as their value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<MetaDataNamespace>,
    /// Names of objects.
    #[serde(rename = "objectNames", skip_serializing_if = "Vec::is_empty")]
    pub object_names: Vec<MetaDataObjectName>,
    /// Prefix lengths of IP pools.
    #[serde(rename = "prefixesFromPool", skip_serializing_if = "Vec::is_empty")]
    pub prefixes_from_pool: Vec<FromPool>,
    /// Fixed values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strings: Vec<MetaDataString>,
}

/// A value of the metadata that is copied from an annotation.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataFromAnnotation {
    /// Key of the annotation.
    pub annotation: String,
    /// Key of the value in the metadata.
    pub key: String,
    /// Object that has the annotation: the Machine, the Metal3Machine or the BareMetalHost.
    pub object: String,
}

/// A value of the metadata that is copied from a label.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataFromLabel {
    /// Key of the value in the metadata.
    pub key: String,
    /// Key of the label.
    pub label: String,
    /// Object that has the label: the Machine, the Metal3Machine or the BareMetalHost.
    pub object: String,
}

/// A value of the metadata that is the MAC address of a network interface of the BareMetalHost. Either
/// interface or fromBootMAC is set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataHostInterface {
    /// Whether the value is spec.bootMACAddress of the BareMetalHost.
    #[serde(rename = "fromBootMAC", skip_serializing_if = "Option::is_none")]
    pub from_boot_mac: Option<bool>,
    /// Name of the interface in the hardware details of the BareMetalHost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Key of the value in the metadata.
    pub key: String,
}

/// A value of the metadata that is calculated from the index of the Metal3Data: prefix, offset + index
/// * step, suffix.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataIndex {
    /// Key of the value in the metadata.
    pub key: String,
    /// Number that is added to the product of index and step. The default is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i32>,
    /// Text before the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Factor of the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<i32>,
    /// Text after the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
}

/// A value of the metadata that is the namespace of the objects.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataNamespace {
    /// Key of the value in the metadata.
    pub key: String,
}

/// A value of the metadata that is the name of an object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataObjectName {
    /// Key of the value in the metadata.
    pub key: String,
    /// Object that has the name: the Machine, the Metal3Machine or the BareMetalHost.
    pub object: String,
}

/// A fixed value of the metadata.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MetaDataString {
    /// Key of the value in the metadata.
    pub key: String,
    /// The value.
    pub value: String,
}

/// The index that is allocated to a claim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataTemplateIndex {
    /// The index.
    pub index: i32,
    /// Name of the Metal3DataClaim.
    pub name: String,
}

/// Desired state of a Metal3DataTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataTemplateSpec {
    /// Name of the Cluster that uses the template.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// Rules from which the metadata are rendered. They are immutable.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<MetaData>,
    /// Rules from which the network data are rendered. They are immutable.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<NetworkData>,
}

/// Observed state of a Metal3DataTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataTemplateStatus {
    /// Indexes that are allocated to claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<Metal3DataTemplateIndex>,
    /// Time of the last change of the status.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}
