//! Providers whose controllers run in the process of the server itself. Nothing of them is fetched or installed.
//!
//! The server names them in a ConfigMap. Those that Cluster API itself publishes are in the inventory from the start; the others get their
//! entries when somebody chooses them, because `clusterctl move` refuses a target that lacks a provider of the source's inventory.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::configuration::{Configuration, ProviderType, parse_name};
use crate::deployments::{self, is_in_process};
use crate::install::Objects;
use crate::inventory::{self, Installed};
use crate::removal::Removal;
use crate::repository::has_source;
use crate::{Context, Error, Result, version};

/// The namespace of the ConfigMap.
pub const NAMESPACE: &str = "kube-system";
/// The name of the ConfigMap.
pub const NAME: &str = "firstlight-providers";
/// The entry of infrastructure that each firstlight has from the start.
const ALWAYS_LISTED: &str = "infrastructure-docker";

/// A provider whose controllers run in the process of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its entry in the inventory.
    pub provider: Installed,
    /// Whether its controllers stand aside as long as the same provider is installed.
    pub stands_aside: bool,
    /// Whether its entry is in the inventory from the start, and not only when somebody chooses the provider.
    pub is_listed: bool,
    /// The backends of its machines that controllers of the server serve; empty for a provider whose machines have no backend.
    pub backends: Vec<String>,
}

impl BuiltIn {
    /// Whether it is the one of this name and type.
    pub fn is(&self, name: &str, kind: ProviderType) -> bool {
        self.provider.name == name && self.provider.type_name == kind.name()
    }

    /// Whether machines of this backend are served.
    pub fn has_backend(&self, name: &str) -> bool {
        self.backends.iter().any(|backend| backend == name)
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
            if one.is_listed {
                value["listed"] = true.into();
            }
            if !one.backends.is_empty() {
                value["backends"] = json!(one.backends);
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
    Ok(named(&data))
}

/// Returns the providers that the data of the ConfigMap name.
pub fn named(data: &BTreeMap<String, String>) -> Vec<BuiltIn> {
    let read = |text: &String| {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |field: &str| Some(value[field].as_str()?.to_owned());
        let (name, type_name) = (text("name")?, text("type")?);
        let (version, namespace) = (text("version")?, text("namespace")?);
        let provider = Installed { name, type_name, version, namespace };
        let backends = value["backends"].as_array().into_iter().flatten();
        Some(BuiltIn {
            provider,
            stands_aside: value["standsAside"] == true,
            is_listed: value["listed"] == true,
            backends: backends.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    };
    data.values().filter_map(read).collect()
}

/// Returns the entries of an inventory without those that are there from the start, so that nobody has chosen their providers. Whoever may
/// read no more than the inventory gets it without the entry that each firstlight has, chosen or not.
///
/// # Errors
/// The cluster does not answer.
pub async fn without_listed(mut known: Vec<Installed>, client: &Client) -> Result<Vec<Installed>> {
    let unchosen = unchosen(&known, client).await;
    match unchosen {
        Err(error) if error.is_forbidden() => known.retain(|one| one.label() != ALWAYS_LISTED),
        Err(error) => return Err(error),
        Ok(unchosen) => known.retain(|one| !unchosen.contains(one)),
    }
    Ok(known)
}

/// Returns the entries that are there from the start and whose providers are not installed.
async fn unchosen(known: &[Installed], client: &Client) -> Result<Vec<Installed>> {
    let listed: Vec<BuiltIn> = providers(client).await?.into_iter().filter(|one| one.is_listed).collect();
    let mut unchosen = Vec::new();
    for one in known {
        let is_listed = listed.iter().any(|built_in| built_in.provider.label() == one.label());
        if is_listed && deployments::of(client, one).await?.is_empty() {
            unchosen.push(one.clone());
        }
    }
    Ok(unchosen)
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

/// Removes the entries that say of a provider that it is built in, after the same provider has been installed in another namespace.
///
/// # Errors
/// The cluster refuses or does not answer.
pub(crate) async fn forget_replaced(new: &Installed, client: &Client) -> Result<()> {
    for old in inventory::providers(client).await? {
        if old.label() == new.label() && old.namespace != new.namespace && is_in_process(client, &old).await?
        {
            inventory::forget(client, &old).await?;
        }
    }
    Ok(())
}

/// Creates the entry of a provider that has been deleted, if it is also built in and always listed: its controllers take over.
///
/// # Errors
/// The cluster refuses or does not answer.
pub(crate) async fn list_again(deleted: &Installed, removal: Removal, client: &Client) -> Result<()> {
    let all = providers(client).await?;
    let is_it = |one: &&BuiltIn| one.is_listed && one.provider.label() == deleted.label();
    let Some(BuiltIn { provider, .. }) = all.iter().find(is_it) else { return Ok(()) };
    // A namespace that is being deleted takes no entry.
    if removal.namespace && provider.namespace == deleted.namespace {
        return Ok(());
    }
    let entries: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &provider.namespace, &inventory::resource());
    create::<Namespace>(&Api::all(client.clone()), provider.namespace_object()).await?;
    create(&entries, provider.entry()).await
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    let object = serde_json::from_value(object).map_err(|error| Error::invalid(error.to_string()))?;
    match api.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        created => created.map(drop).context(|| "failed to list a provider that is built in".to_owned()),
    }
}
