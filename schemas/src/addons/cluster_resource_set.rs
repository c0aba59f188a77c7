// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `addons`: cluster resource set.

use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Records what ClusterResourceSets applied to one Cluster. It has the Cluster's name.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterResourceSetBinding {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Everything that ClusterResourceSets applied to one Cluster.
    pub spec: ClusterResourceSetBindingSpec,
}

crate::kind!(
    ClusterResourceSetBinding,
    "addons.cluster.x-k8s.io",
    "v1beta2",
    "clusterresourcesetbindings",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Applies manifests to all Clusters that it selects, as soon as they answer.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterResourceSet {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Which manifests go to which Clusters.
    pub spec: ClusterResourceSetSpec,
    /// What the controller last saw of the ClusterResourceSet.
    pub status: Option<ClusterResourceSetStatus>,
}

crate::kind!(
    ClusterResourceSet,
    "addons.cluster.x-k8s.io",
    "v1beta2",
    "clusterresourcesets",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(ClusterResourceSet);

/// Everything that ClusterResourceSets applied to one Cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterResourceSetBindingSpec {
    /// One entry for each ClusterResourceSet that selects the Cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<ResourceSetBinding>,
    /// The Cluster, in the same namespace. It can't be changed once it is set.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
}

/// Which manifests go to which Clusters.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterResourceSetSpec {
    /// Selects Clusters of the same namespace by their labels. It must select something by name: an empty
    /// selector is refused. It can't be changed.
    #[serde(rename = "clusterSelector")]
    pub cluster_selector: LabelSelector,
    /// Secrets and ConfigMaps whose data are applied, in this order.
    pub resources: Vec<ResourceReference>,
    /// ApplyOnce creates the objects and then leaves them alone. Reconcile applies them again whenever the
    /// data change. ApplyOnce unless set; it can't be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
}

/// What the controller last saw of the ClusterResourceSet.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterResourceSetStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One resource of a ClusterResourceSet, and whether it was applied to the Cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ResourceBinding {
    /// Whether all objects of the resource are in the workload cluster. False also after an attempt that
    /// failed.
    pub applied: bool,
    /// Hash of the data when it was last applied, as sha256:HEX. Another hash of the current data makes the
    /// strategy Reconcile apply it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Kind of the object that holds the manifests.
    pub kind: String,
    /// When the resource was last applied, or when that was last tried.
    #[serde(rename = "lastAppliedTime", skip_serializing_if = "Option::is_none")]
    pub last_applied_time: Option<String>,
    /// Name of the object that holds the manifests.
    pub name: String,
}

/// A Secret or ConfigMap whose data are manifests.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ResourceReference {
    /// Secret or ConfigMap. A Secret must have the type addons.cluster.x-k8s.io/resource-set.
    pub kind: String,
    /// Name of the object, in the namespace of the ClusterResourceSet.
    pub name: String,
}

/// What one ClusterResourceSet applied to the Cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ResourceSetBinding {
    /// The ClusterResourceSet, in the namespace of the Cluster.
    #[serde(rename = "clusterResourceSetName")]
    pub cluster_resource_set_name: String,
    /// Its resources, one entry for each Secret or ConfigMap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceBinding>,
}
