//! Reads from a management cluster whether it has Cluster API, and its providers.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::components::Components;
use crate::configuration::{Provider, ProviderType};
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
    installed_in(client, &[CONTRACT]).await
}

/// The same, for a cluster that stores Clusters in one of these versions.
///
/// # Errors
/// As [`installed`].
pub(crate) async fn installed_in(client: &Client, contracts: &[&str]) -> Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.get_opt("clusters.cluster.x-k8s.io").await;
    let Some(definition) = definition.context(|| "failed to check Cluster API version".to_owned())? else {
        return Ok(false);
    };
    match definition.spec.versions.iter().find(|version| version.storage) {
        Some(version) if contracts.contains(&version.name.as_str()) => Ok(true),
        Some(version) => Err(Error::invalid(format!(
            "this version of clusterctl could be used only with {CONTRACT:?} management clusters, {:?} detected",
            version.name
        ))),
        None => Err(Error::invalid("failed to check Cluster API version")),
    }
}

/// Defines the kind of the inventory, unless the cluster has it.
///
/// # Errors
/// The cluster refuses or does not answer.
pub(crate) async fn ensure(client: &Client) -> Result<()> {
    const NAME: &str = "providers.clusterctl.cluster.x-k8s.io";
    let failed = || "failed to install the clusterctl inventory CRD".to_owned();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    if definitions.get_opt(NAME).await.context(failed)?.is_some() {
        return Ok(());
    }
    let built_in = |error: std::io::Error| Error::invalid(error.to_string());
    let mut manifests = schemas::manifests().map_err(built_in)?.into_iter();
    let (_, text) = manifests.find(|(name, _)| name == NAME).unwrap_or_default();
    let definition = serde_json::from_str(&text).map_err(|error| built_in(error.into()))?;
    match definitions.create(&PostParams::default(), &definition).await {
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        created => created.map(drop).context(failed),
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

impl Installed {
    /// Reads an entry of the inventory.
    pub fn read(entry: &DynamicObject) -> Self {
        let text = |field: &str| entry.data[field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("providerName"),
            type_name: text("type"),
            version: text("version"),
            namespace: entry.metadata.namespace.clone().unwrap_or_default(),
        }
    }

    /// The entry of a provider that is not installed yet.
    pub fn of(components: &Components) -> Self {
        Self {
            name: components.provider.name.clone(),
            type_name: components.provider.type_name().to_owned(),
            version: components.version.clone(),
            namespace: components.namespace.clone(),
        }
    }

    /// Returns the type of the provider.
    ///
    /// # Errors
    /// This version does not know the type.
    pub(crate) fn provider_type(&self) -> Result<ProviderType> {
        ProviderType::called(&self.type_name)
            .ok_or_else(|| Error::invalid(format!("{:?} is no type of providers", self.type_name)))
    }

    /// Selects its objects by their labels.
    pub(crate) fn selected(&self) -> ListParams {
        let labels = format!("clusterctl.cluster.x-k8s.io=,cluster.x-k8s.io/provider={}", self.label());
        ListParams::default().labels(&labels)
    }

    /// The value of the label `cluster.x-k8s.io/provider` of its objects.
    pub fn label(&self) -> String {
        let provider_type = ProviderType::called(&self.type_name);
        Provider { name: self.name.clone(), provider_type, url: String::new() }.label()
    }

    /// Its entry's name with the namespace.
    pub fn instance(&self) -> String {
        format!("{}/{}", self.namespace, self.label())
    }

    /// Returns its entry in the inventory.
    pub fn entry(&self) -> Value {
        json!({
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
            "kind": "Provider",
            "metadata": {
                "name": self.label(),
                "namespace": self.namespace,
                "labels": {
                    "cluster.x-k8s.io/provider": self.label(),
                    "clusterctl.cluster.x-k8s.io": "",
                    "clusterctl.cluster.x-k8s.io/core": "inventory",
                },
            },
            "providerName": self.name,
            "type": self.type_name,
            "version": self.version,
        })
    }

    /// Returns the namespace of its entry.
    pub fn namespace_object(&self) -> Value {
        let labels = json!({"cluster.x-k8s.io/provider": self.label(), "clusterctl.cluster.x-k8s.io": ""});
        let metadata = json!({"name": self.namespace, "labels": labels});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    }

    /// Whether it is the core provider.
    pub fn is_core(&self) -> bool {
        self.type_name == ProviderType::Core.name()
    }
}

/// The contracts that work with a core provider of a contract.
pub fn compatible(contract: &str) -> Vec<&str> {
    // v1beta2 works with v1beta1 until that ends.
    if contract == "v1beta2" { vec!["v1beta1", contract] } else { vec![contract] }
}

/// Returns the resource of the entries.
pub fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("clusterctl.cluster.x-k8s.io", "v1alpha3", "Provider"))
}

/// The providers of a cluster.
///
/// # Errors
/// The server refuses, or it has no inventory.
pub async fn providers(client: &Client) -> Result<Vec<Installed>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource());
    let list = api.list(&ListParams::default()).await.context(|| "failed get providers".to_owned())?;
    Ok(list.items.iter().map(Installed::read).collect())
}

/// Removes the entry of a provider, if there is one.
///
/// # Errors
/// The server refuses or does not answer.
pub(crate) async fn forget(client: &Client, provider: &Installed) -> Result<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &provider.namespace, &resource());
    match api.delete(&provider.label(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => {
            deleted.map(drop).context(|| format!("failed to delete the entry {}", provider.instance()))
        }
    }
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
