//! Providers whose controllers run in the process of the server itself. Nothing of them is fetched or installed.
//!
//! The server names them in a ConfigMap. Those of a first installation are in the inventory from the start; the others get their entries
//! when somebody chooses them, because `clusterctl move` refuses a target that lacks a provider of the source's inventory.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::configuration::{ProviderType, parse_name};
use crate::install::Objects;
use crate::inventory::Installed;
use crate::{Context, Result, version};

/// The namespace of the ConfigMap.
pub const NAMESPACE: &str = "kube-system";
/// The name of the ConfigMap.
pub const NAME: &str = "firstlight-providers";

/// Returns the ConfigMap that names these providers.
pub fn config_map(providers: &[Installed]) -> Value {
    let data: serde_json::Map<String, Value> = providers
        .iter()
        .map(|one| {
            let Installed { name, type_name, version, namespace } = one;
            let value = json!({"name": name, "type": type_name, "version": version, "namespace": namespace});
            (one.label(), value.to_string().into())
        })
        .collect();
    let metadata = json!({"name": NAME, "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// Returns the providers that run in the process of the server; none if it names none.
///
/// # Errors
/// The cluster refuses or does not answer.
pub async fn providers(client: &Client) -> Result<Vec<Installed>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let failed = || "failed to look for providers that are built in".to_owned();
    let data = maps.get_opt(NAME).await.context(failed)?.and_then(|map| map.data).unwrap_or_default();
    let read = |text: String| {
        let value: Value = serde_json::from_str(&text).ok()?;
        let text = |field: &str| Some(value[field].as_str()?.to_owned());
        let (name, type_name) = (text("name")?, text("type")?);
        Some(Installed { name, type_name, version: text("version")?, namespace: text("namespace")? })
    };
    Ok(data.into_values().filter_map(read).collect())
}

/// A chosen provider that is built in.
pub(crate) struct Found {
    pub(crate) provider: Installed,
    /// The version that was chosen.
    wanted: Option<String>,
}

impl Found {
    /// What is said instead of an installation.
    pub(crate) fn text(&self) -> String {
        let Installed { version, .. } = &self.provider;
        let label = self.provider.label();
        let same = |wanted: &String| version::parse(wanted) == version::parse(version);
        match self.wanted.as_ref().filter(|wanted| !same(wanted)) {
            Some(wanted) => format!(
                "Skipping {label}: its controllers run in the server, in version {version} instead of {wanted}; the server's flag --controllers chooses what runs"
            ),
            None => format!("Skipping {label}: its controllers run in the server"),
        }
    }
}

/// Chosen providers as `name[:version]`, with their types.
type Named = Vec<(String, ProviderType)>;

/// Takes the providers that are built in out of the chosen ones.
///
/// # Errors
/// The name of a provider is invalid.
pub(crate) fn take(chosen: Named, built_in: &[Installed]) -> Result<(Named, Vec<Found>)> {
    let (mut others, mut found) = (Vec::new(), Vec::new());
    for (text, kind) in chosen {
        let (name, wanted) = parse_name(&text)?;
        let is_it = |one: &&Installed| one.name == name && one.type_name == kind.name();
        match built_in.iter().find(is_it) {
            Some(provider) => found.push(Found { provider: provider.clone(), wanted }),
            None => others.push((text, kind)),
        }
    }
    Ok((others, found))
}

/// Creates the Namespace and the entry in the inventory of a provider that is built in, unless there is an entry.
///
/// # Errors
/// The cluster refuses an object.
pub async fn record(provider: &Installed, known: &[Installed], objects: &Objects) -> Result<()> {
    if known.iter().any(|one| one.label() == provider.label()) {
        return Ok(());
    }
    objects.apply(&provider.namespace_object()).await?;
    objects.apply(&provider.entry()).await
}
