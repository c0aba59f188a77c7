//! Providers whose controllers run in the process of the server itself. Nothing of them is fetched or installed.
//!
//! The server names them in a ConfigMap. Those of a first installation are in the inventory from the start; the others get their entries
//! when somebody chooses them, because `clusterctl move` refuses a target that lacks a provider of the source's inventory.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::configuration::{Configuration, ProviderType, parse_name};
use crate::deployments::is_in_process;
use crate::install::Objects;
use crate::inventory::Installed;
use crate::repository::has_source;
use crate::{Context, Result, version};

/// The namespace of the ConfigMap.
pub const NAMESPACE: &str = "kube-system";
/// The name of the ConfigMap.
pub const NAME: &str = "firstlight-providers";

/// A provider whose controllers run in the process of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its entry in the inventory.
    pub provider: Installed,
    /// Whether its controllers stand aside as long as the same provider is installed.
    pub stands_aside: bool,
}

impl BuiltIn {
    /// Whether it is the one of this name and type.
    pub fn is(&self, name: &str, kind: ProviderType) -> bool {
        self.provider.name == name && self.provider.type_name == kind.name()
    }

    /// Whether another one is to be installed in its place: somebody has said where that comes from.
    pub fn is_replaced(&self, configuration: &Configuration) -> bool {
        let kind = ProviderType::called(&self.provider.type_name);
        self.stands_aside && kind.is_some_and(|kind| has_source(configuration, &self.provider.name, kind))
    }
}

/// Returns the ConfigMap that names these providers.
pub fn config_map(providers: &[BuiltIn]) -> Value {
    let data: serde_json::Map<String, Value> = providers
        .iter()
        .map(|one| {
            let Installed { name, type_name, version, namespace } = &one.provider;
            let mut value =
                json!({"name": name, "type": type_name, "version": version, "namespace": namespace});
            if one.stands_aside {
                value["standsAside"] = true.into();
            }
            (one.provider.label(), value.to_string().into())
        })
        .collect();
    let metadata = json!({"name": NAME, "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// Returns the providers that run in the process of the server; none if it names none.
///
/// # Errors
/// The cluster refuses or does not answer.
pub async fn providers(client: &Client) -> Result<Vec<BuiltIn>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let failed = || "failed to look for providers that are built in".to_owned();
    let data = maps.get_opt(NAME).await.context(failed)?.and_then(|map| map.data).unwrap_or_default();
    let read = |text: String| {
        let value: Value = serde_json::from_str(&text).ok()?;
        let text = |field: &str| Some(value[field].as_str()?.to_owned());
        let (name, type_name) = (text("name")?, text("type")?);
        let (version, namespace) = (text("version")?, text("namespace")?);
        let provider = Installed { name, type_name, version, namespace };
        Some(BuiltIn { provider, stands_aside: value["standsAside"] == true })
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

/// Takes the providers that are built in out of the chosen ones, except for those that are to be installed in their place.
///
/// # Errors
/// The name of a provider is invalid.
pub(crate) fn take(
    chosen: Named,
    built_in: &[BuiltIn],
    configuration: &Configuration,
) -> Result<(Named, Vec<Found>)> {
    let (mut others, mut found) = (Vec::new(), Vec::new());
    for (text, kind) in chosen {
        let (name, wanted) = parse_name(&text)?;
        let is_it = |one: &&BuiltIn| one.is(&name, kind) && !one.is_replaced(configuration);
        match built_in.iter().find(is_it) {
            Some(one) => found.push(Found { provider: one.provider.clone(), wanted }),
            None => others.push((text, kind)),
        }
    }
    Ok((others, found))
}

/// Returns the entries of chosen providers whose controllers run in the process of the server: nothing is installed of them.
///
/// # Errors
/// The name of a provider is invalid, or the cluster does not answer.
pub(crate) async fn entries(
    chosen: &[(String, ProviderType)],
    known: &[Installed],
    client: &Client,
) -> Result<Vec<Installed>> {
    let mut found = Vec::new();
    for (text, kind) in chosen {
        let (name, _) = parse_name(text)?;
        for one in known.iter().filter(|one| one.name == name && one.type_name == kind.name()) {
            if is_in_process(client, one).await? {
                found.push(one.clone());
            }
        }
    }
    Ok(found)
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
