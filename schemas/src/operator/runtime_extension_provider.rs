// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `operator`: runtime extension provider.

use crate::operator::ProviderSpec;
use crate::operator::ProviderStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

/// A provider that adds runtime extensions. The name of the object is that of the provider, and the
/// components are installed in its namespace.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct RuntimeExtensionProvider {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Which version of a provider is to be installed, and how.
    pub spec: ProviderSpec,
    /// What is installed, and whether it runs.
    pub status: Option<ProviderStatus>,
}

crate::kind!(
    RuntimeExtensionProvider,
    "operator.cluster.x-k8s.io",
    "v1alpha2",
    "runtimeextensionproviders",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(RuntimeExtensionProvider);
