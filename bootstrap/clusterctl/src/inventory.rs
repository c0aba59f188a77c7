//! Reads from a management cluster whether it has Cluster API, and its providers.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};

use crate::configuration::ProviderType;
use crate::{Context, Error, Result};

/// The version of Cluster API's kinds that these verbs support.
pub const CONTRACT: &str = "v1beta2";

/// Checks that Cluster API is installed.
///
/// # Errors
/// Cluster API is not installed, or as [`installed`].
pub async fn check(client: &Client) -> Result<()> {
    if installed(client).await? {
        return Ok(());
    }
    let missing = "customresourcedefinitions.apiextensions.k8s.io \"clusters.cluster.x-k8s.io\" not found";
    Err(Error::invalid(format!("failed to check Cluster API version: {missing}")))
}

/// Whether Cluster API is installed.
///
/// # Errors
/// The server refuses or does not answer, or Clusters are stored in another version.
pub async fn installed(client: &Client) -> Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.get_opt("clusters.cluster.x-k8s.io").await;
    let Some(definition) = definition.context(|| "failed to check Cluster API version".to_owned())? else {
        return Ok(false);
    };
    match definition.spec.versions.iter().find(|version| version.storage) {
        Some(version) if version.name == CONTRACT => Ok(true),
        Some(version) => Err(Error::invalid(format!(
            "this version of clusterctl could be used only with {CONTRACT:?} management clusters, {:?} detected",
            version.name
        ))),
        None => Err(Error::invalid("failed to check Cluster API version")),
    }
}

/// A provider in the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its name, such as `aws`.
    pub name: String,
    /// Name of its type, such as `InfrastructureProvider`.
    pub type_name: String,
    /// Its version, such as `v2.1.0`.
    pub version: String,
    /// The namespace of its components.
    pub namespace: String,
}

/// The providers of a cluster.
///
/// # Errors
/// The server refuses, or it has no inventory.
pub async fn providers(client: &Client) -> Result<Vec<Installed>> {
    let kind = GroupVersionKind::gvk("clusterctl.cluster.x-k8s.io", "v1alpha3", "Provider");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let list = api.list(&ListParams::default()).await.context(|| "failed get providers".to_owned())?;
    let text =
        |object: &DynamicObject, field: &str| object.data[field].as_str().unwrap_or_default().to_owned();
    let installed = |object: &DynamicObject| Installed {
        name: text(object, "providerName"),
        type_name: text(object, "type"),
        version: text(object, "version"),
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
    };
    Ok(list.items.iter().map(installed).collect())
}

/// The name of the provider of a type, if there is only one.
pub fn only_name(providers: &[Installed], provider_type: ProviderType) -> Option<String> {
    only(providers.iter().filter(|one| one.type_name == provider_type.name()).map(|one| &one.name))
}

/// The version of a provider, if there is only one.
pub fn only_version(providers: &[Installed], name: &str, provider_type: ProviderType) -> Option<String> {
    let own = providers.iter().filter(|one| one.name == name && one.type_name == provider_type.name());
    only(own.map(|one| &one.version))
}

fn only<'a>(mut values: impl Iterator<Item = &'a String>) -> Option<String> {
    let first = values.next()?;
    values.all(|value| value == first).then(|| first.clone())
}
